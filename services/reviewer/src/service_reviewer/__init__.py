"""The readiness review of challenge pages: is it clear what to deliver and how it will be judged?"""
