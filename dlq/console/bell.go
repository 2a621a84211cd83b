package console

import (
	"context"
	"net/http"
	"time"

	"outboxrelay/dlq"
)

// Bells is where the console finds the notifications of people, for those who try the service
// out. It is asked every few seconds while somebody looks.
type Bells interface {
	// People are those whose bell can be looked at, in the order in which they are offered.
	People(ctx context.Context) ([]Person, error)
	// Bell reads the notifications of one of them, the latest first.
	Bell(ctx context.Context, id string) (*Bell, error)
}

// Person is somebody with a bell.
type Person struct {
	ID   string // as Bell takes it
	Name string // for people, with the tenant
}

// Bell is what somebody's bell shows.
type Bell struct {
	Unread int
	Notes  []Note // the latest of them, a screenful
	More   bool   // there are others
}

// Note is one notification.
type Note struct {
	ID    string
	Title string
	Body  string
	About string // what it is about, in a few words
	At    time.Time
	Read  bool
	Event string // path of the event that it is of, in the queue notifications; "": not known
}

// bellPage is what the screen of the bell shows.
type bellPage struct {
	*Bell

	People []option
	Of     Person
	Notes  []bellNote
}

// bellNote is a notification, and where its event is shown.
type bellNote struct {
	Note

	Source string
}

// addBell adds the bell, where there are any.
func addBell(s *server) {
	if s.config.Bells != nil {
		s.screen("/bell", "bell.html", s.bell)
	}
}

func (s *server) bell(ctx context.Context, v *visit) (*page, error) {
	if !v.who.May(dlq.Viewer) {
		return nil, &fault{http.StatusForbidden, "this needs the role viewer", "ask for it"}
	}
	people, err := s.config.Bells.People(ctx)
	if err != nil {
		return nil, err
	}
	shown := &page{Title: "Bell", Section: "bell", Follows: []string{topicClock}}
	content := &bellPage{Bell: &Bell{}}
	shown.Content = content
	if len(people) == 0 {
		return shown, nil
	}
	asked, found := v.URL.Query().Get("of"), false
	for _, p := range people {
		if p.ID == asked || asked == "" && !found {
			content.Of, found = p, true
		}
	}
	if !found {
		return nil, &fault{http.StatusNotFound, "nobody of that name has a bell", "choose somebody on the screen Bell"}
	}
	for _, p := range people {
		content.People = append(content.People, option{p.ID, p.Name, p.ID == content.Of.ID})
	}
	if content.Bell, err = s.config.Bells.Bell(ctx, content.Of.ID); err != nil {
		return nil, err
	}
	for _, n := range content.Bell.Notes {
		noted := bellNote{Note: n}
		if n.Event != "" {
			noted.Source = pathTo("queues", "notifications", "items", n.Event)
		}
		content.Notes = append(content.Notes, noted)
	}
	return shown, nil
}
