package main

// equivalents has the mutants that no test can tell from the original, and a sentence why.
var equivalents = map[string]string{}

// mostEquivalent is how many percent of the mutants may be listed: a list that grows hides what nothing tests.
const mostEquivalent = 5
