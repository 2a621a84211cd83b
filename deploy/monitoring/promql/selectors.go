// Package promql reads out of an expression of PromQL what it asks for: metrics,
// labels and their values. It is no parser: whether an expression is valid is
// for promtool to say.
package promql

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Selector is one metric that an expression asks for.
type Selector struct {
	Metric   string
	Matchers []Matcher
}

// Matcher is one condition on a label.
type Matcher struct {
	Label, Operator, Value string
}

// Query is what an expression asks for.
type Query struct {
	Selectors []Selector
	Labels    []string // by which it groups or joins
}

// grouping are the words before a list of labels.
var grouping = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}

// reserved are words that are neither metrics nor functions.
var reserved = []string{"and", "or", "unless", "bool", "offset", "atan2"}

// Read reads an expression.
func Read(expr string) (Query, error) {
	tokens, err := scan(expr)
	if err != nil {
		return Query{}, fmt.Errorf("read %q: %w", expr, err)
	}
	var q Query
	for i := 0; i < len(tokens); i++ {
		t, next := tokens[i], token{}
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch {
		case t.kind != word:
		case slices.Contains(grouping, t.text) && next.text == "(":
			for i += 2; i < len(tokens) && tokens[i].text != ")"; i++ {
				if tokens[i].kind == word {
					q.Labels = append(q.Labels, tokens[i].text)
				}
			}
		case slices.Contains(reserved, t.text), slices.Contains(grouping, t.text):
		case next.text == "(", next.kind == word && slices.Contains(grouping, next.text): // a function, or an aggregation
		case next.text == "{":
			end := i + 2
			for end < len(tokens) && tokens[end].text != "}" {
				end++
			}
			matchers, err := readMatchers(tokens[i+2 : min(end, len(tokens))])
			if err != nil {
				return Query{}, fmt.Errorf("read %q: %w", expr, err)
			}
			q.Selectors = append(q.Selectors, Selector{t.text, matchers})
			i = end
		default:
			q.Selectors = append(q.Selectors, Selector{Metric: t.text})
		}
	}
	return q, nil
}

func readMatchers(tokens []token) ([]Matcher, error) {
	var all []Matcher
	for len(tokens) > 0 {
		if len(tokens) < 3 || tokens[0].kind != word || tokens[1].kind != operator || tokens[2].kind != quoted {
			return nil, fmt.Errorf("a matcher is expected at %q", tokens[0].text)
		}
		all = append(all, Matcher{tokens[0].text, tokens[1].text, tokens[2].text})
		if tokens = tokens[3:]; len(tokens) > 0 && tokens[0].text == "," {
			tokens = tokens[1:]
		}
	}
	return all, nil
}

type kind int

const (
	word kind = iota + 1
	quoted
	operator
	other
)

type token struct {
	kind kind
	text string
}

// scan splits an expression into words, strings and signs. Numbers, durations
// and what stands in brackets are left out.
func scan(expr string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(expr); {
		c := rune(expr[i])
		switch {
		case unicode.IsSpace(c):
			i++
		case unicode.IsDigit(c):
			for i < len(expr) && (isWord(rune(expr[i])) || expr[i] == '.') {
				i++
			}
		case c == '"':
			end := strings.IndexByte(expr[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a string does not end")
			}
			tokens = append(tokens, token{quoted, expr[i+1 : i+1+end]})
			i += end + 2
		case c == '[':
			end := strings.IndexByte(expr[i:], ']')
			if end < 0 {
				return nil, fmt.Errorf("a range does not end")
			}
			i += end + 1
		case isWord(c):
			from := i
			for i < len(expr) && isWord(rune(expr[i])) {
				i++
			}
			tokens = append(tokens, token{word, expr[from:i]})
		case strings.ContainsRune("=!~<>", c):
			from := i
			for i < len(expr) && strings.ContainsRune("=!~<>", rune(expr[i])) {
				i++
			}
			tokens = append(tokens, token{operator, expr[from:i]})
		default:
			tokens = append(tokens, token{other, string(c)})
			i++
		}
	}
	return tokens, nil
}

func isWord(c rune) bool { return c == '_' || c == ':' || unicode.IsLetter(c) || unicode.IsDigit(c) }
