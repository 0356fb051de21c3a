"""The page where a person sees what was proposed, dropped and reported, and decides about it.

Plain HTML from Starlette and Jinja2, without a line of script: passages are written by strangers,
and what cannot run cannot be made to. `ragguard.review.app.review_app` is the application,
`ragguard review` serves it.
"""
