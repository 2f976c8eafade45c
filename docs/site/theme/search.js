// The search of the site by questions: it replaces Sphinx's search of pages, which wants every word of the query on a page.
//
//  1. A word of the query that questions have anyway says nothing. Each other one is a group: its stem, and those of its synonyms.
//  2. A page has a score for each group that it has a word of: the more, the fewer pages have that; more where its title has it.
//  3. The heading of the page that has most of the groups adds to that, and is where the result leads.
//  4. A page that lacks more than half of the query, by these weights, is no result.
"use strict";

const questionWords = new Set(
  ("able actually also best can cannot come could different doe easy exactly fast find get give go good happen happens help i " +
   "instead just know like look make makes many may mean means might much must necessary need needed new now order please possible " +
   "problem really right say see seem set shall show simple someone something still sure take tell thing try turn use used user uses " +
   "using via want way well will without work working works wrong yet hakobi").split(" "));

// Words that mean the same to who asks; each line is one set.
const synonymLines = `
  kill killed crash crashed abort aborted die died walltime
  continue resume resumed restart restarted checkpoint again
  core process processes rank
  gpu gpus cuda hip rocm device nvidia amd
  folder directory path
  filesystem lustre gpfs nfs storage
  install installation installing download pip wheel
  movie film animation browser viewer plot picture visualise visualize visualisation visualization
  compare compared comparison versus vs alternative difference adios2 xios pnetcdf
  compress compressed compression zstd deflate
  slow slower performance speed faster cost
  bucket s3 ceph rados
  grib weather ecmwf fdb
  mesh unstructured
  thread openmp threads
  numpy python
  slurm srun sbatch batch
  cite citation
  version compatibility upgrade update
  error exception message
  space full quota
  variable environment setting
  aggregator aggregators cb_nodes
  halo ghost exchange neighbour neighbor
`;

const questions = {
  groups: null,

  /** Sets of stems by the stem of a word. */
  synonyms() {
    if (this.groups) return this.groups;
    const stemmer = new Stemmer();
    this.groups = new Map();
    for (const line of synonymLines.trim().split("\n")) {
      const stems = line.trim().split(" ").map((word) => stemmer.stemWord(word));
      for (const stem of stems) this.groups.set(stem, new Set([...(this.groups.get(stem) ?? []), ...stems]));
    }
    return this.groups;
  },

  /** Pages that have a term, by their numbers. */
  pagesOf(table, term) {
    const pages = Object.hasOwn(table, term) ? table[term] : [];
    return Array.isArray(pages) ? pages : [pages];
  },

  /** [{stem, weight}] of a word: itself, what begins with it where nothing is it, its synonyms. */
  alternatives(stem) {
    const { terms, titleterms } = Search._index;
    const found = [{ stem, weight: 1 }, { stem: `${stem}s`, weight: 1 }];  // "GPUs" has no other stem
    if (!Object.hasOwn(terms, stem) && !Object.hasOwn(titleterms, stem) && stem.length > 3)
      for (const term of Object.keys(terms)) if (term.startsWith(stem)) found.push({ stem: term, weight: 0.7 });
    for (const other of this.synonyms().get(stem) ?? []) if (!found.some((one) => one.stem === other)) found.push({ stem: other, weight: 0.5 });
    return found;
  },

  /** How much pages of a kind are what somebody looks for. */
  factor(docname) {
    if (/decisions\/|CHANGELOG|changelog\.d/.test(docname)) return 0.45;
    if (/results\//.test(docname)) return 0.6;
    if (/reference\/|internals|ARCHITECTURE|CONTRIBUTING|apps\/|packaging\/|lab\//.test(docname)) return 0.75;
    if (/docs\/(index|guides|reference)$|README/.test(docname)) return 0.7;
    return 1;
  },

  /** Numbers of groups that a heading has words of, and how many of its words these are. */
  inHeading(title, groups) {
    const stemmer = new Stemmer();
    const stems = splitQuery(title.toLowerCase())
      .filter((word) => !stopwords.has(word) && !questionWords.has(word))
      .map((word) => stemmer.stemWord(word));
    const found = new Map();
    groups.forEach((group, number) => {
      const weights = group.alternatives.filter(({ stem }) => stems.includes(stem)).map(({ weight }) => weight);
      if (weights.length) found.set(number, Math.max(...weights));
    });
    return { found, share: stems.length ? found.size / stems.length : 0 };
  },

  find(searchTerms, excludedTerms) {
    const { terms, titleterms, docnames, filenames, titles, alltitles } = Search._index;
    const stems = [...searchTerms].filter((stem) => !questionWords.has(stem));
    const groups = (stems.length ? stems : [...searchTerms]).map((stem) => {
      const alternatives = this.alternatives(stem);
      const pages = new Map();  // number -> the weight of the best alternative there
      for (const { stem: other, weight } of alternatives) {
        const add = (page, value) => pages.set(page, Math.max(pages.get(page) ?? 0, value));
        for (const page of this.pagesOf(terms, other)) add(page, weight);
        for (const page of this.pagesOf(titleterms, other)) add(page, 2.5 * weight);
      }
      const own = new Set([...this.pagesOf(terms, stem), ...this.pagesOf(titleterms, stem)]).size || pages.size;
      return { alternatives, pages, rarity: Math.log(1 + docnames.length / Math.max(1, own)) };
    });
    const most = groups.reduce((sum, group) => sum + group.rarity, 0);
    const headings = new Map();  // page -> the best one
    for (const [title, places] of Object.entries(alltitles)) {
      const { found, share } = this.inHeading(title, groups);
      if (!found.size) continue;
      let score = 0;
      for (const [number, weight] of found) score += groups[number].rarity * weight;
      score *= 0.5 + 1.5 * share;
      for (const [page, anchor] of places)
      {
        const weighed = title === titles[page] ? 1.5 * score : score;  // all of the page is of it
        if (weighed > (headings.get(page)?.score ?? 0)) headings.set(page, { score: weighed, title, anchor });
      }
    }
    const results = [];
    docnames.forEach((docname, page) => {
      let score = 0, told = 0;
      for (const group of groups) {
        const weight = group.pages.get(page) ?? 0;
        score += group.rarity * weight;
        told += group.rarity * Math.min(1, 2 * weight);
      }
      if (!score || told < most / 2) return;
      const excluded = [...excludedTerms].some((term) => this.pagesOf(terms, term).includes(page));
      if (excluded) return;
      const heading = headings.get(page);
      const isSection = heading && heading.anchor !== null && heading.title !== titles[page];
      const shown = isSection ? `${titles[page]} > ${heading.title}` : titles[page];
      const anchor = isSection ? `#${heading.anchor}` : "";
      score = this.factor(docname) * (score + (heading?.score ?? 0));
      results.push([docname, shown, anchor, null, score, filenames[page], SearchResultKind.text]);
    });
    return results;
  },
};

document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  Search.performTermsSearch = (searchTerms, excludedTerms) => questions.find(searchTerms, excludedTerms);
});
