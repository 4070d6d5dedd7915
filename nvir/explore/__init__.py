"""`nvir explore`: a page of CUDA, PTX and machine code side by side, with figures and what-ifs.

data     what the page shows, as plain JSON, by the functions behind report, explain and tune
options  what holds for a page
worker   a process of its own that makes it, ended where it takes too long
server   the page and its data for this machine alone
export   the page with all its data in one file
static   the page itself
"""
