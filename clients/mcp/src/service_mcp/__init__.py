"""The client's calls as tools of the Model Context Protocol.

It never signs beyond a policy that its own user cannot write, nor shows anyone's text outside of ``untrusted``.
"""
