"""The texts of the vectors: cases that tokenizers often get wrong."""

import random

# Each comment names the purpose of the texts below it.
HAND_WRITTEN = [
    # ends, blanks, line ends
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "a", " a", "a ", "  a", "a  ", " a ", "a b", "a  b", "a   b", "a\nb",
    "a\n\nb", "a \n b", "a\r\nb", "a\r\n\r\nb", "a\t\tb", "\n a", " \n", "\n \n", "   \n   \n bar", "```\n\nfoo   \n   \n bar",
    "\u00a0a", "a\u00a0b", "a\u3000b", "\u2003\u2003x", "a\u0085b", "a\u2028b\u2029c", "x\u200bx", "\ufeffbom", "a\x0bb\x0cc",
    "   leading", "trailing   ", "tab\tand  two", "\u180e mongolian", "a \u00a0 b", "\u00a0\u00a0\n\u00a0",
    # contractions
    "I'm you're he's we've they'll I'd don't", "I'M YOU'RE HE'S WE'VE THEY'LL I'D DON'T", "'s 't 're 've 'm 'll 'd", "'S'T'RE'VE'M'LL'D",
    "'ſ don'T", "x'ſx", "it'ſ", "'r 'v 'l '", "'re'", "''s", "a'b'c", "'lL 'Ll 'LL", "O'Neill's", "rock 'n' roll", "\u2019s don\u2019t",
    # numbers
    "0 1 12 123 1234 12345 123456 1234567", "3.14159", "1,000,000.00", "2024-01-31T12:34:56Z", "v1.2.3", "½ ² ³ ① Ⅻ ٣ ६ ௧ 一 〇 ㊿", "1a2b3c", "x1 1x",
    "12٣4६", "0x1F 1e-9 +1 -1", "١٢٣٤٥", "①②③④", "²³¹",
    # punctuation and symbols
    "!", "!!", "!!!", "...", "…", "?!?!", "(a)", "[b]", "{c}", "<d>", "a.b,c;d:e", "---", "─────", "=====", "#include <x>", "a_b_c", "__init__",
    "$5 €6 £7 ¥8", "a@b.c", "http://example.com/a/b?c=d&e=f#g", "C:\\path\\file", "\"quoted\"", "“quoted”", "«quoted»", "¿qué?", "100%", "a/b/c//d", "//\n//", "/*\n*/\n",
    "foo.\n\nbar", "foo!!\r\n\r\nbar", "a +b", "a+ b", "~^`|<>=", "a\u00adb", "∑∏√∞≠", "→ ← ⇒", "™®©", "。、！？", "·•◦", ";;;;;;;;;;;;;;", " ;", " !a", "!a ?b", "_a", "-a-b", "=a",
    # letters of all scripts
    "naïve café résumé", "Straße ẞ ß", "İstanbul ıi Iİ", "ΑΒΓ αβγ ς Σ", "Привет, мир!", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "こんにちは世界", "カタカナ ﾊﾝｶｸ",
    "안녕하세요 세계", "你好，世界", "東京タワー", "ཀ་ཁ", "ሰላም", "გამარჯობა", "Բարեւ", "ខ្មែរ", "မြန်မာ", "Ǆǅǆ", "ŉ ŀ", "𝐀𝐁𝐂", "ﬁ ﬂ ﬃ", "Å Å Å", "ａｂｃ ＡＢＣ", "Việt Nam tiếng Việt",
    "na\u0131\u0308ve 東京 😀 ſ", "naïve 東京 😀 ſ", "HelloWorld helloWORLD HELLOworld", "iPhone XMLHttpRequest getURL", "ABCdef ABCDef aBC", "ʰʱʲ ˠ", "ªº", "ǅungla", "ẞß", "ꟲꟳ",
    # marks
    "e\u0301", "e\u0301\u0301", "\u0301", " \u0301", "a\u0301\u0323b", "a\u0323\u0301b", "\u0344", "\u1e0b\u0323", "q\u0307\u0323", "n\u0303o", "क़ क\u093c", "가각힣", "\u1100\u1161\u11a8", "\u1100\u1161", "\uac00\u11a8", "\u1161\u11a8",
    "\u0e01\u0e33", "A\u030a", "\u212b \u2126 \u212a", "\u0958\u0915\u093c", "\ufb1d \u05d9\u05b4", "Z\u0335\u0321\u0353a\u0330\u0345l\u0329\u034e", "x" + "\u0301" * 40 + "\u0323" * 40, "a\u0315\u0300\u05ae\u0062", "\u0f71\u0f72\u0f74", "\u1e9b\u0323",
    "a\u08d3b\u1df6c", "\U00011938 \U00011935\U00011930", "\u32ff ㍿ ㎏ ℃ ⅓ ﷺ", "\u2f00 \uf900 \U0002f800", "\u0340\u0341\u0343\u0374\u037e\u0387",
    # emoji and clusters
    "😀", "😀😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "1️⃣ #️⃣", "☺️", "a😀b", " 😀", "❤️‍🔥", "\u200d", "a\u200db", "क्षि", "\U0001f1e6", "e\u0301\u200d", "\r\n\u0301", "\U000e0041\U000e007f",
    # control, unassigned, private, noncharacters
    "\x00", "a\x00b", "\x01\x02", "\x1b[31mred\x1b[0m", "\x7f", "\x80\x9f", "\ue000", "\U000f0000", "\ufdd0", "\uffff", "\U0010ffff", "\ufffd", "\ufffc", "a\ufffdb", "\u0378", "\x01 a", "\x01\n", "\x01a\x01", "1\x01a", "\u2065",
    # special tokens in the text
    "<s>", "</s>", "<unk>", "a<s>b", " <s> ", "<s><s>", "<|endoftext|>", "a<|endoftext|>b", "<|endoftext", "endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "<0x41>", "<0x00><0xFF>", "[CLS] a [SEP]", "[MASK]", "a[MASK]b", "a [MASK] b", "a  [MASK]  b", "[MASK][MASK]",
    "▁", "▁▁", "a▁b", "▁a", "a ▁ b", " ▁", "▁ ", "Ġ", "Ċ", "Ġa", "##a", "a ##b", "</w>", "a</w>", "hello  \n", "<SPECIAL> word wordy  word ", "sword word's word_", "lstrip <L>x", "<R>  x  <R>", "  <B>  ", "x<B>y", "<LR", "<L><R><B>", "Mixed CASE Token", "mixed case token", "mixed cAsE tokens",
    # code and markup
    "def f(x):\n    return x ** 2\n", "if (a && b) {\n\treturn c[0];\n}\n", "<div class=\"a\">b</div>", "| a | b |\n|---|---|\n| 1 | 2 |\n", "{\"key\": [1, 2.5, null, true]}", "SELECT * FROM t WHERE a = 'b';", "\\frac{a}{b}", "- [x] done\n- [ ] todo\n", "a\\nb", "\t\tx = y\n\t\n", "    \n        deep\n    ", "x=1;y=2", "for(;;){}", "/**\n * doc\n */\n",
    # long
    "a" * 100, "ab" * 100, " " * 100, "\n" * 50, "=" * 100, "a " * 60, "ſ" * 30, "東" * 60, "😀" * 30, "x" * 300, "-" * 200 + "\n", "A" * 70 + "b", "word" * 40, "1" * 50, "\u0301" * 50, " " * 70 + "\n" + " " * 70 + "x", "aB" * 50, "é" * 99, "!" * 99 + "a", "é " * 40,
]

FRAGMENTS = (
    ["the", " of", " and", "ing", " a", "tion", "Hello", " WORLD", "don't", " I'll", "it's", "x", "Y", "zzz", " qu", "é", "ü", "ñ", "Å", "ß", "ſ", "İ", "ı", "Ω", "ж", "Ж", "א", "م", "ह", "ि", "ก", "ำ", "中", "文", "か", "カ", "한", "가", "ᄀ", "ᅡ", "ᆨ"]
    + [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\u0085", " \n", "\n "]
    + list("0123456789") + ["٣", "½", "Ⅻ", "²", "〇"]
    + list(".,;:!?'\"()[]{}<>/\\|-_=+*&^%$#@~`") + ["…", "“", "”", "。", "、", "—", "€", "→", "™", "№"]
    + ["\u0301", "\u0323", "\u0308", "\u200d", "\ufe0f", "\u0345", "\u08d3", "\u1dfa", "\u0e33"]
    + ["😀", "👍🏽", "🇩", "🇪", "❤️", "\U0001f468", "𝐀", "\U00011938"]
    + ["\x00", "\x01", "\x7f", "\x9f", "\ufffd", "\ufeff", "\u00ad", "\u200b", "\ue000", "\U0010fffd", "\u0378"]
    + ["<s>", "</s>", "<unk>", "<|endoftext|>", "▁", "Ġ", "##", "</w>", "<0x0A>", "[MASK]", "<L>", "<R>", "<B>", "word", "<SPECIAL>"]
    + ["'s", "'S", "'T", "'re", "'RE", "'LL", "'ſ", "'"]
    + ["ABC", "aBc", "XMLHttp", "snake_case", "camelCase", "://", "```", "</", "/>", "==", "!=", "->", "::", "0x1F", "\\n"]
)


def texts(seed, count):
    """The hand-written texts, then count random ones."""
    rng = random.Random(seed)
    out = list(HAND_WRITTEN)
    scalars = [r for r in range(0x20, 0x110000) if not 0xD800 <= r < 0xE000]
    for i in range(count):
        n = rng.choice([1, 2, 3, 4, 6, 8, 12, 20, 40])
        kind = i % 4
        if kind < 2:
            out.append("".join(rng.choice(FRAGMENTS) for _ in range(n)))
        elif kind == 2:  # any characters, the lower ones more often
            out.append("".join(chr(scalars[min(int(rng.paretovariate(0.35)) + rng.randrange(64), len(scalars) - 1)]) for _ in range(n)))
        else:  # a few characters over and over
            some = [rng.choice(FRAGMENTS) for _ in range(rng.choice([1, 2, 3]))]
            out.append("".join(rng.choice(some) for _ in range(n * 2)))
    return out


def unicode_blocks():
    """All assigned characters, 256 to a text, each after a letter and before a blank."""
    out = []
    for block in list(range(0x324)) + [0xE00, 0xE01, 0xF00, 0xFFF, 0x10FF]:
        chars = [c for c in range(block * 256, block * 256 + 256) if not 0xD800 <= c < 0xE000]
        if chars:
            out.append("".join("a" + chr(c) + " " for c in chars))
    return out
