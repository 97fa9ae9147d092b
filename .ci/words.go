//go:build ignore

// Command words holds what people read to the rules of CONTRIBUTING.md: it fails on phrases that make a reader decode a sentence, in Go
// comments, Go strings and Markdown, and on sentences of more than 40 words in Markdown; it warns of those over 25. Run it with `make words`,
// or on some folders alone: go run .ci/words.go events node.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	longest = 40 // words of a sentence in Markdown
	wished  = 25
)

// banned are the phrases, with what to write instead.
var banned = []struct {
	phrase  *regexp.Regexp
	except  *regexp.Regexp // what it matches and may stand
	instead string
}{
	{in(`shall`), nil, "must, or the plain present"},
	{in(`no more`), in(`no more than`), "no longer"},
	{in(`anew`), nil, "again"},
	{in(`(?:nobody|somebody|anybody|whoever)`), nil, "name the actor"},
	{in(`people`), nil, "operator, client or reader"},
	{in(`as it should be`), nil, "healthy, or the exact condition"},
	{in(`where it is not given`), nil, "default"},
	{in(`(?:is|are) none`), in(`there (?:is|are) none`), "has no"},
	{in(`(?:is|are) no`), in(`(?:there (?:is|are) no|(?:is|are) no longer)`), "is not a"},
	{in(`(?:` + causes + `) (?:` + object + `) (?:` + infinitive + `)`), nil, "make, let or a plain verb"},
	{regexp.MustCompile(`(?:^|[.!:] |// )(?:Who|What) [a-z][^.?]*[.:]`), nil, "name the actor"},
	{in(`(?:take-over|takes over the lead)`), nil, "failover"},
}

// The parts of "have X be" and its kin.
const (
	causes     = `have|has|having|had`
	object     = `it|them|him|us|that|those|all|everything|nothing|(?:a|an|the|its|their|his|each|every|no|one|two|three|this|these|some|any|other|what|who|instances|nodes|services|containers) (?:[a-z-]+ ){0,2}[a-z-]+|instances|nodes|services|containers|orders|operators|clients`
	infinitive = `be|do|go|come|take|give|begin|say|tell|stay|follow|keep|make|write|read|ask|send|know|appear|serve|become|bring|leave|find|fill|lose|happen|carry|remove|rest|stop|wait|answer|print|show|fail|pass|lie|stand|grow|vanish|wake|join|lead`
)

func in(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b` + words + `\b`) }

// text is one that is read: a comment, a string or a paragraph.
type text struct {
	path string
	line int
	said string
	kind string
}

func main() {
	log.SetFlags(0)
	seed := flag.Uint64("sample", 0, "print twenty sentences, drawn by this `seed`")
	flag.Parse()
	roots := flag.Args()
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var texts []text
	for _, root := range roots {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || (d.IsDir() && path != "." && skipped(d.Name())) {
				return cmp.Or(err, error(filepath.SkipDir))
			}
			read, err := textsOf(path, d)
			texts = append(texts, read...)
			return err
		}); err != nil {
			log.Fatal(err)
		}
	}
	if *seed > 0 {
		sample(texts, *seed)
		return
	}
	found := 0
	for _, t := range texts {
		for _, b := range banned {
			for _, at := range b.phrase.FindAllStringIndex(t.said, -1) {
				around := t.said[max(0, at[0]-6):min(len(t.said), at[1]+7)]
				if b.except != nil && b.except.MatchString(around) {
					continue
				}
				found++
				fmt.Printf("%s:%d: %q: write %s\n", t.path, t.line, t.said[at[0]:at[1]], b.instead)
			}
		}
	}
	long := documents(texts)
	fmt.Printf("banned phrases %d, sentences over %d words %d\n", found, longest, long)
	if found+long > 0 {
		os.Exit(1)
	}
}

func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || slices.Contains([]string{"testdata", "node_modules"}, folder)
}

func textsOf(path string, d fs.DirEntry) ([]text, error) {
	switch {
	case d.IsDir():
		return nil, nil
	case filepath.Ext(path) == ".go":
		return ofGo(path)
	case filepath.Ext(path) == ".md":
		return ofMarkdown(path)
	}
	return nil, nil
}

// ofGo returns the comments, each as one line, and the strings that have words.
func ofGo(path string) (texts []text, err error) {
	files := token.NewFileSet()
	source, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, group := range source.Comments {
		said := strings.Join(strings.Fields(group.Text()), " ")
		texts = append(texts, text{path, files.Position(group.Pos()).Line, said, "comment"})
	}
	ast.Inspect(source, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if said, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(said, " ") {
				texts = append(texts, text{path, files.Position(literal.Pos()).Line, strings.Join(strings.Fields(said), " "), "string"})
			}
		}
		return true
	})
	return texts, nil
}

// ofMarkdown returns the paragraphs, items of lists and cells of tables, without code.
func ofMarkdown(path string) ([]text, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var texts []text
	paragraph, began, fenced := "", 0, false
	end := func() {
		if paragraph != "" {
			texts = append(texts, text{path, began, strings.TrimSpace(paragraph), "markdown"})
		}
		paragraph = ""
	}
	for i, line := range strings.Split(string(body), "\n") {
		plain := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(plain, "```"):
			fenced = !fenced
			end()
		case fenced:
		case plain == "" || strings.HasPrefix(plain, "#"):
			end()
		case strings.HasPrefix(plain, "|"):
			end()
			for cell := range strings.SplitSeq(plain, "|") {
				paragraph, began = cell, i+1
				end()
			}
		default:
			if item.MatchString(plain) {
				end()
			}
			if paragraph == "" {
				began = i + 1
			}
			paragraph += " " + code.ReplaceAllString(item.ReplaceAllString(plain, ""), "X")
		}
	}
	end()
	return texts, nil
}

var (
	item = regexp.MustCompile(`^(?:[-*]|\d+\.) `)
	code = regexp.MustCompile("`[^`]*`")
	stop = regexp.MustCompile(`[.!?:;]\**(?: |$)`)
)

// sentences splits a text where a sentence, or a part of one that stands alone, ends.
func sentences(said string) []string {
	var all []string
	for _, s := range stop.Split(said, -1) {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// documents prints how many words each document has and its longest sentence, and returns how many sentences are too long.
func documents(texts []text) (long int) {
	type figures struct{ words, most, over, overWished int }
	by := map[string]*figures{}
	var paths []string
	for _, t := range texts {
		if t.kind != "markdown" {
			continue
		}
		if by[t.path] == nil {
			by[t.path], paths = &figures{}, append(paths, t.path)
		}
		f := by[t.path]
		for _, s := range sentences(t.said) {
			n := len(strings.Fields(s))
			f.words, f.most = f.words+n, max(f.most, n)
			if n > wished {
				f.overWished++
			}
			if n > longest {
				f.over++
				fmt.Printf("%s:%d: a sentence of %d words: %.60s…\n", t.path, t.line, n, s)
			}
		}
	}
	for _, path := range paths {
		f := by[path]
		long += f.over
		fmt.Printf("%-40s %6d words, longest sentence %3d, %d over %d\n", path, f.words, f.most, f.overWished, wished)
	}
	return long
}

// sample prints sentences that are drawn by a seed.
func sample(texts []text, seed uint64) {
	var all []string
	for _, t := range texts {
		for _, s := range sentences(t.said) {
			if len(strings.Fields(s)) > 4 {
				all = append(all, fmt.Sprintf("%s:%d: %s", t.path, t.line, s))
			}
		}
	}
	draw := rand.New(rand.NewPCG(seed, seed))
	for range min(20, len(all)) {
		fmt.Println(all[draw.IntN(len(all))])
	}
}
