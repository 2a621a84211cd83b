package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"outboxrelay/dlq"
)

const apiDescription = `What operators read and decide about records that could not be delivered.

Every request says who asks: with a Google ID token as bearer token, or through Identity-Aware Proxy, as the service is set up. A file of the service maps addresses to the roles viewer, operator and security; each includes those before it.

Errors are problem documents (RFC 9457): detail says what is wrong, hint what to do. A 401 asks for a valid credential, a 403 for another role or person, a 409 says what stands in the way, a 412 that it is not any more what you looked at, and a 429 or 503 says in Retry-After when to ask again.

Lists answer one page and, in nextPageToken, where the next begins; it is left out at the end. Times are RFC 3339.`

// Tags group the operations.
const (
	tagDeadLetters = "Dead letters"
	tagReplays     = "Bulk replays"
	tagFreezes     = "Freezes"
	tagService     = "Lanes and outboxes"
	tagQueues      = "Work queues"
	tagHistory     = "History"
)

func humaConfig() huma.Config {
	format := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(v)
		},
		Unmarshal: json.Unmarshal,
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "outbox-relay admin API", Version: "1", Description: apiDescription},
			Servers: []*huma.Server{{URL: Prefix}},
			Tags: []*huma.Tag{
				{Name: tagDeadLetters, Description: "Records that could not be delivered, one by one."},
				{Name: tagReplays, Description: "Many dead letters at once. What is taken is pinned when the replay is made; it starts with a few, goes faster, and stops when too many fail."},
				{Name: tagFreezes, Description: "Aggregates whose records are held because of a SECURITY_BLOCK dead letter."},
				{Name: tagService, Description: "How the relay does."},
				{Name: tagQueues, Description: "Documents that the service acts on, rather than passes on: jobs, notifications."},
				{Name: tagHistory, Description: "What happened, and who decided it."},
			},
			Security: []map[string][]string{{"googleIdToken": {}}, {"identityAwareProxy": {}}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"googleIdToken": {
						Type: "http", Scheme: "bearer", BearerFormat: "JWT",
						Description: "AUTH_MODE oidc: a Google ID token for the service's audience. AUTH_MODE dev: one of the tokens dev-viewer, dev-operator, dev-security, dev-security-2.",
					},
					"identityAwareProxy": {
						Type: "apiKey", In: "header", Name: "x-goog-iap-jwt-assertion",
						Description: "AUTH_MODE iap: the header that Identity-Aware Proxy signs and adds by itself.",
					},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{inProblems},
	}
}

// examples of problems, by status.
var problemExamples = map[int]Problem{
	http.StatusBadRequest:            {Detail: "the body cannot be taken: it is not JSON: it ends too early", Hint: "send one JSON object"},
	http.StatusUnauthorized:          {Detail: "the token has expired", Hint: "get a fresh Google ID token for the audience of this service, as with gcloud auth print-identity-token"},
	http.StatusForbidden:             {Detail: "this needs the role operator, and carol@example.com has viewer", Hint: "ask someone with the role operator"},
	http.StatusNotFound:              {Detail: `there is no dead letter "7f0c:acc-1:3"`, Hint: "list the dead letters to find its ID"},
	http.StatusRequestTimeout:        {Detail: "the body did not come in time", Hint: "send it again"},
	http.StatusConflict:              {Detail: "it is replayed already", Hint: "a note can still be added"},
	http.StatusPreconditionFailed:    {Detail: "it was changed since you looked at it, at 2026-03-01 10:00:00Z", Hint: "look at it again, then decide"},
	http.StatusRequestEntityTooLarge: {Detail: "the body has more than 65536 bytes", Hint: "say it shorter"},
	http.StatusRequestURITooLong:     {Detail: "the URL has more than 8192 bytes", Hint: "narrow less at once"},
	http.StatusUnsupportedMediaType:  {Detail: "the body is not declared as JSON", Hint: "send JSON with the header Content-Type: application/json"},
	http.StatusUnprocessableEntity: {
		Detail: "query.teir: unknown query parameter", Hint: "the query parameters are aggregateId, tier",
		Errors: []Fault{{"query.teir", "unknown query parameter"}},
	},
	http.StatusTooManyRequests:             {Detail: "alice@example.com asks more than 20 times a second", Hint: "wait as long as Retry-After says"},
	http.StatusRequestHeaderFieldsTooLarge: {Detail: "the headers have more than 16384 bytes", Hint: "send fewer headers"},
	http.StatusInternalServerError:         {Detail: "Firestore refuses the service: PermissionDenied", Hint: "outbox-relay doctor tells what a deployment lacks"},
	http.StatusServiceUnavailable:          {Detail: "Firestore cannot be reached now: Unavailable", Hint: "try again in a moment"},
}

// errorResponse documents one error. All routes that may answer it share the result.
func (a *api) errorResponse(status int) *huma.Response {
	if known := a.problems[status]; known != nil {
		return known
	}
	example := problemExamples[status]
	example.Type, example.Title, example.Status = blank, http.StatusText(status), status
	r := &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[Problem](a), Example: example}},
	}
	header := func(name, description string) {
		r.Headers = map[string]*huma.Param{name: {Description: description, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	switch status {
	case http.StatusUnauthorized:
		header("WWW-Authenticate", "The credential that is asked for.")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header("Retry-After", "Seconds after which to ask again.")
	}
	a.problems[status] = r
	return r
}

type documentOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// document adds the operation that answers the documentation, which is written
// when it is first asked for. It comes after all others.
func (a *api) document() {
	doc := a.huma.OpenAPI()
	written := sync.OnceValues(func() ([]byte, error) {
		data, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("write OpenAPI document: %w", err)
		}
		return bytes.TrimSpace(data), nil
	})
	register(a, route{
		method: http.MethodGet, path: "/openapi.json", role: dlq.Viewer, name: "get-openapi", tag: tagService,
		summary: "This document", description: "The API in OpenAPI 3.1.",
		responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"application/openapi+json": {Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}},
		}},
	}, func(context.Context, *struct{}) (*documentOutput, error) {
		data, err := written()
		return &documentOutput{ContentType: "application/openapi+json", Body: data}, err
	})
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op != nil {
				delete(op.Responses, "default")
			}
		}
	}
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own; Problem stands for them
		delete(doc.Components.Schemas.Map(), unused)
	}
}
