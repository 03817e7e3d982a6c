"""The page of `threadwright lessons report`: one file that holds all it shows, for a browser or a phone.

    markup      HTML in which every text is escaped unless it was made here
    drawing     the pictures, as inline SVG
    tables      what tables share
    overview    what the lessons are worth, and what waits for a person
    lives       each lesson: its effect, what became of it, what was held back, why it was retired
    judge       how far the judge agrees with what came out
    page        the whole
    style       how it looks

Nothing on it runs and nothing on it is fetched.  What a lesson says comes from the world: it is shown, never obeyed.
"""
