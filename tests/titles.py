"""Titles as people write them in many languages, and titles that hide, reorder, pile up or spread."""

import json
import unicodedata


def quoted(text: str) -> str:
    """A title as YAML has it: JSON, but for characters that take two of its numbers."""
    inside = (json.dumps(each)[1:-1] if ord(each) < 0x10000 else f"\\U{ord(each):08x}" for each in text)
    return f'"{"".join(inside)}"'


LEGITIMATE = {
    "English": "Halve the size of our tile set",
    "French": "Réécrire l’analyseur d’expressions, sans régression",
    "Vietnamese": "Tăng tốc độ tìm kiếm tiếng Việt có dấu",
    "Vietnamese, decomposed": unicodedata.normalize("NFD", "Tăng tốc độ tìm kiếm tiếng Việt"),
    "Greek": "Ταχύτερη αναζήτηση στα ελληνικά κείμενα",
    "Greek, polytonic": "Ἐν ἀρχῇ ἦν ὁ λόγος· ᾧ πάντα",
    "Russian": "Ускорить поиск по русским текстам",
    "Serbian and a name": "Бржа претрага за PostgreSQL",
    "Hebrew": "חיפוש מהיר יותר בטקסטים בעברית",
    "Hebrew, pointed": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם",
    "Arabic": "تسريع البحث في النصوص العربية",
    "Arabic, pointed": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
    "Persian": "جست‌وجوی سریع‌تر در متن‌های فارسی",
    "Urdu": "اردو متن میں تیز تر تلاش",
    "Hindi": "हिन्दी पाठ में तेज़ खोज, कार्त्स्न्यं सहित",
    "Bengali": "বাংলা লেখায় দ্রুত অনুসন্ধান, ক্‌ষ সহ",
    "Tamil": "தமிழ் உரையில் வேகமான தேடல்",
    "Malayalam": "മലയാളം ന്‍ തിരച്ചിൽ",
    "Sinhala": "ශ්‍රී ලංකා පෙළ සෙවීම",
    "Thai": "ค้นหาข้อความภาษาไทยให้เร็วขึ้นที่สุด ปิ่นโตน้ำ",
    "Thai and a name": "เพิ่มความเร็วAPIของระบบ",
    "Lao": "ຄົ້ນຫາຂໍ້ຄວາມພາສາລາວໃຫ້ໄວຂຶ້ນ",
    "Khmer": "ស្វែងរក\u200bអត្ថបទ\u200bភាសា\u200bខ្មែរ\u200bឱ្យ\u200bលឿន ស្ត្រី",
    "Burmese": "မြန်မာစာ\u200bရှာဖွေမှု မြန်ဆန်စေရန်",
    "Tibetan": "བོད་ཡིག་འཚོལ་བ་མགྱོགས་སུ་གཏོང་བ་ བསྒྲུབས་",
    "Tibetan, a mantra": "ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ་ བྷྲཱུྃ",
    "Japanese": "日本語　全文検索の高速化とAPIの改善",
    "Japanese, wide letters": "ＡＰＩの高速化（第２版）",
    "Japanese, a variant": "葛\U000e0100城市の地図データ",
    "Chinese": "加快中文全文搜索速度",
    "Korean": "한국어 전문 검색 속도 개선",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ",
    "emoji": "Ship it 👩‍💻 ❤️‍🔥 🏳️‍🌈 1️⃣",
    "mathematics": "Bound ‖x‖ over ℝ for α-stable laws, Δt → 0",
    "units": "Measure 5 μm and 20 °C",
    "a Turkish name": "İstanbul’da ışık kirliliği",
}
"""By what it is in. Each stays as it is, whole and unmarked."""

_THAI, _LAO, _TIBETAN = "\u0e49", "\u0ec8\u0ec9", "\u0f71\u0f72\u0f74\u0f7a\u0f7c\u0f90\u0f92"
HOSTILE = {
    "Thai marks": ("ก" + _THAI * 60 + " ") * 3,
    "Thai marks of many kinds": ("ก" + "\u0e31\u0e34\u0e35\u0e36\u0e37\u0e47\u0e48\u0e49\u0e4a\u0e4b" * 5 + " ") * 3,
    "Lao marks": ("ກ" + _LAO * 30 + " ") * 3,
    "Tibetan marks": ("ཀ" + _TIBETAN * 8 + " ") * 3,
    "Arabic marks": ("ا" + "\u0651\u064e\u0670\u0653" * 12 + " ") * 3,
    "Arabic marks below": ("ا" + "\u0650\u064d\u0655" * 16 + " ") * 3,
    "Khmer letters below letters": "ក" + "\u17d2ក" * 90,
    "Latin marks": ("e" + "\u0301\u0323\u20dd" * 20 + " ") * 3,
    "Hebrew marks": ("א" + "\u05b0\u0591\u05bf" * 20 + " ") * 3,
    "ideographic spaces": "a" + "\u3000" * 190 + "b",
    "spaces that do not break": "a" + "\u00a0" * 190 + "b",
    "blank letters": "a" + "\u2800\u3164\uffa0" * 60 + "b",
    "one word": "W" * 200,
    "one wide word": "\ufdfd" * 200,
    "wide signs": "\U00012219\U0001242b\u2e3b" * 60,
    "right to left": "\u202egpj.egap" + "\u2066x\u2067y",
    "joiners": "pay\u200dpal\u200c pa\u2060ypal\u200b",
    "private letters": "\ue000" * 150,
    "no characters": "x\ufffe\uffff" * 60,
    "selectors": "x\ufe0f" * 80,
    "tags": "x" + "".join(chr(0xE0000 + ord(each)) for each in "hidden instructions"),
}
"""By what it tries. None has more than the 200 characters of a title, and none leaves the place that a title has."""
