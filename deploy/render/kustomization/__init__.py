"""Renders the kustomizations of ``deploy/k8s`` where kustomize is not installed.

For the features these manifests use, the objects are those that kustomize itself would make; anything else in a
kustomization is refused by name, never ignored. It is not a general kustomize.
"""
