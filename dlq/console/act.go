package console

import "net/http"

// act is one thing that the visitor could do, as the part "act" shows it: what
// will happen, why not now, and where it asks for the reason.
type act struct {
	Name   string // one word, unique on its page
	Label  string // of the button: what it does
	Post   string // where it is sent
	Will   []string
	Danger bool // it cannot be undone

	Allowed bool
	Why     string // what stands in the way
	Hint    string // what to do about that

	NeedsReason bool
	Fields      map[string]string // hidden ones: what the visitor saw
	Command     string            // the same from a shell; "" for none

	Open  bool   // its form is open: it was sent and refused
	Typed string // the reason that was typed then
	Back  string // path and query of the page that it stands on
}

// retyped keeps what was typed into an act that was refused.
func (a act) retyped(v *visit) act {
	a.Back = here(v)
	if v.PostFormValue("act") == a.Name {
		a.Open, a.Typed = true, v.PostFormValue("reason")
	}
	return a
}

// reason is what was typed into the form of an act.
func (v *visit) reason() string { return v.PostFormValue("reason") }

// fieldETag is the form's field with the entity tag of what the visitor sees.
const fieldETag = "etag"

// saw is the header that has an order refused when its form was of something
// that has changed since.
func (v *visit) saw() (http.Header, error) {
	tag := v.PostFormValue(fieldETag)
	if tag == "" {
		return nil, &fault{http.StatusPreconditionFailed, "the form does not say what you saw", "look at it, then decide"}
	}
	return http.Header{"If-Match": {tag}}, nil
}

// done is the page that tells of an action that was taken: doneTexts has its
// text. It is part of the address, so that it is there without scripts.
func done(path, name string) string { return path + "?done=" + name }

// doneNotice is what the address says of an action; nil for nothing.
func doneNotice(v *visit, texts map[string]string) *notice {
	if text, ok := texts[v.URL.Query().Get("done")]; ok {
		return &notice{Text: text}
	}
	return nil
}
