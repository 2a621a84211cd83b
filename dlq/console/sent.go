package console

import (
	"mime"
	"net/http"
)

// readForm reads the form that was sent, whole. What comes in another way than the
// console's own pages send it is refused: net/http takes a form for an empty one where it
// cannot read it, and an empty one may do something, too.
func (v *visit) readForm() error {
	kind, _, err := mime.ParseMediaType(v.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return &fault{http.StatusUnsupportedMediaType, "the form cannot be read", "send it from the console's own page"}
	}
	if err := v.ParseForm(); err != nil {
		return &fault{http.StatusBadRequest, "the form cannot be read", "go back and send it again"}
	}
	return nil
}
