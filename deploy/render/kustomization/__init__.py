"""Renders the kustomizations of ``deploy/k8s``, where no kustomize is at hand.

Promises: for the features these manifests use, the objects that kustomize itself would make; anything else in a
kustomization is refused by name, never ignored. It is not a general kustomize.
"""
