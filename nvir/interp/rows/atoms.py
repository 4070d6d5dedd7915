EMITTERS: dict = {}
