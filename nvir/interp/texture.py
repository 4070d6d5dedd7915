class Texture: pass
class TextureTable:
    def __init__(self, program, textures): pass
