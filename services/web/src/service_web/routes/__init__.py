"""The routes: parse what is asked for, render what a view worked out."""
