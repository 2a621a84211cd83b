package console

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"outboxrelay/dlq"
)

//go:embed templates
var templateFiles embed.FS

// entry is one of the navigation.
type entry struct{ Section, Path, Title string }

// navigation lists the screens that everybody can go to.
var navigation = []entry{
	{"overview", "/", "Overview"},
	{"dlq", "/dlq", "Dead letters"},
	{"replays", "/replays", "Bulk replays"},
	{"freezes", "/freezes", "Freezes"},
	{"trace", "/trace", "Trace"},
	{"lanes", "/lanes", "Lanes"},
	{"queues", "/queues", "Queues"},
	{"audit", "/audit", "Audit"},
}

// navigation lists the screens that this console has.
func (s *server) navigation() []entry {
	if s.config.Bells == nil {
		return navigation
	}
	return append(slices.Clone(navigation), entry{"bell", "/bell", "Bell"})
}

// frame is what the layout shows around a page.
type frame struct {
	*page
	Who        visitor
	Navigation []entry
	Here       string // path and query of the page, also after an action that was refused
	Fetched    string // path and query that it is fetched by again
	Live       string // URL of its stream; "" for none
	Since      string // position of the last change that the page can show
	Dev        bool
}

// templates are each screen's template joined with the layout and the parts. They
// are parsed for the first page that is asked for: most commands and most instances
// never show one.
var templates = sync.OnceValue(parseTemplates)

func parseTemplates() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(funcs).ParseFS(templateFiles, "templates/layout.html", "templates/parts/*.html"))
	names, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(fmt.Sprintf("read embedded templates: %v", err))
	}
	out := make(map[string]*template.Template)
	for _, f := range names {
		if !f.IsDir() && f.Name() != "layout.html" {
			out[f.Name()] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+f.Name()))
		}
	}
	return out
}

// write renders the page whole before it sends any of it.
func (s *server) write(w http.ResponseWriter, status int, v *visit, name string, p *page) error {
	f := frame{page: p, Who: v.who, Navigation: s.navigation(), Here: here(v), Dev: len(v.who.picks) > 0}
	f.Fetched = cmp.Or(p.Again, f.Here)
	if len(p.Follows) > 0 && v.who.May(dlq.Viewer) {
		f.Live, f.Since = streamURL(p.Follows), v.since
	}
	var out bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&out, "layout.html", f); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // an error means that the client has gone
	return nil
}

// here is where the page that is shown stands, without what became of an action:
// that is told once. A form may have said it.
func here(v *visit) string {
	if v.Method == http.MethodPost {
		return local(v.PostFormValue("back"))
	}
	at := *v.URL
	if query := at.Query(); query.Has("done") {
		query.Del("done")
		at.RawQuery = query.Encode()
	}
	return at.RequestURI()
}
