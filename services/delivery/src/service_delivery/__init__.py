"""Opens wraps with the delivery keys, which it alone holds, and rewraps the winner's to the Poster.

It never trusts what the api sends.
"""
