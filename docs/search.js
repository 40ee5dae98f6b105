// The order of what the site's search finds: Sphinx takes this file in the place of its own scores.
//
// Sphinx gives every page that has all words the same few scores, and then orders by the alphabet. Here a page whose
// heading has most of the words comes first, and the result leads to that heading. What is kept for the record (decisions,
// the changelog, statements of the specification) comes after what is written for readers.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  FOR_THE_RECORD: /^(docs\/adr\/|docs\/specification$|docs\/reference\/|CHANGELOG$)/,

  score: (result) => {
    const [name, title, anchor, , score, , kind] = result;
    const weight = Scorer.FOR_THE_RECORD.test(name) ? 0.5 : 1;
    if (kind !== SearchResultKind.text) return weight * score;
    const asked = Scorer.words(new URLSearchParams(window.location.search).get("q") ?? "");
    let best = { value: 0 };
    for (const heading of Scorer.headings(name)) {
      const shared = [...heading.words].filter((word) => asked.has(word)).length;
      const value = shared && shared / asked.size + shared / heading.words.size / 4;
      if (value > best.value) best = { ...heading, value };
    }
    if (best.id && !anchor) {
      result[1] = `${title} > ${best.text}`;
      result[2] = `#${best.id}`;
    }
    return weight * (score / 15 + 20 * best.value);
  },

  /** The words of a text as the index has them: without those that say nothing, and without their endings. */
  words: (text) => {
    const stemmer = new Stemmer();
    const said = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return new Set(said.map((word) => stemmer.stemWord(word)));
  },

  /** The headings of a page, each with its place there. */
  headings: (name) => {
    if (Scorer.byPage === undefined) {
      Scorer.byPage = new Map(Search._index.docnames.map((each) => [each, []]));
      for (const [text, places] of Object.entries(Search._index.alltitles)) {
        const words = Scorer.words(text);
        for (const [page, id] of places) Scorer.byPage.get(Search._index.docnames[page]).push({ text, words, id });
      }
    }
    return Scorer.byPage.get(name);
  },
};
