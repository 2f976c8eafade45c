// Which names and headings of the search come first: Sphinx's weights, and guides before decisions, results and changes. Pages have the
// scores of search.js.
"use strict";

var Scorer = {  // var: Sphinx declares it so, too
    score: ([name, , , , score, , kind]) =>
        score - (kind !== "text" && /decisions\/|results\/|CHANGELOG|changelog\.d/.test(name) ? 20 : 0),
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};
