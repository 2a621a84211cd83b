package jobs

import (
	"errors"
	"fmt"
	"slices"
	"text/template"
	"text/template/parse"
)

// present is the name of the function that each value passes on its way into the text. No template can
// call it, as it is made known once they are parsed.
const present = "_present"

var errNull = errors.New("a value that the text needs is null")

// asked begins the names of the functions of texts within a condition.
const asked = "_asked_"

// textFuncs are the functions of text/template that make a text of values, printf apart.
var textFuncs = map[string]func(...any) string{
	"print": fmt.Sprint, "println": fmt.Sprintln,
	"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
}

// refuseNull has a template fail where it would write a value that is null, or make a text of one, for
// which people were sent "<no value>" or "%!s(<nil>)". Asking whether a value is there, or what it is,
// stays as it is.
func refuseNull(t *template.Template) {
	funcs := template.FuncMap{
		present: func(v any) (any, error) {
			if v == nil {
				return nil, errNull
			}
			return v, nil
		},
		"printf": func(format string, args ...any) (string, error) {
			return ofPresent(func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
		},
		asked + "printf": fmt.Sprintf,
	}
	for name, text := range textFuncs {
		funcs[name], funcs[asked+name] = ofPresent(text), text
	}
	t.Funcs(funcs)
	for _, part := range t.Templates() {
		if part.Tree != nil {
			refuseNullIn(part.Tree, part.Root)
		}
	}
}

// ofPresent is a function of text/template that makes a text of values: none of them may be null.
func ofPresent(text func(args ...any) string) func(args ...any) (string, error) {
	return func(args ...any) (string, error) {
		if slices.Contains(args, nil) {
			return "", errNull
		}
		return text(args...), nil
	}
}

// refuseNullIn goes through the nodes that write values, and those that have such within.
func refuseNullIn(tree *parse.Tree, n parse.Node) {
	branch := func(b *parse.BranchNode) {
		refuseNullIn(tree, b.List)
		refuseNullIn(tree, b.ElseList)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, within := range n.Nodes {
			refuseNullIn(tree, within)
		}
	case *parse.IfNode:
		if len(n.Pipe.Decl) == 0 { // else what it asks may be written
			letAsk(n.Pipe)
		}
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			return // it writes nothing
		}
		name := parse.NewIdentifier(present).SetPos(n.Pos).SetTree(tree)
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{name}})
	}
}

// letAsk has the functions within a condition make texts of null: these are compared, and not written.
func letAsk(n parse.Node) {
	switch n := n.(type) {
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				letAsk(arg)
			}
		}
	case *parse.IdentifierNode:
		if textFuncs[n.Ident] != nil || n.Ident == "printf" {
			n.Ident = asked + n.Ident
		}
	}
}
