package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"outboxrelay/dlq"
)

// route is one operation, as the guard and the documentation know it.
type route struct {
	method, path string // the path below Prefix
	role         dlq.Role
	name         string // operation ID
	tag          string
	summary      string
	description  string
	status       int   // of a success; 0: 200
	also         []int // errors beyond those that every operation has
	maxBody      int   // bytes of its body; 0: maxBodyBytes
	// responses are successes that the handler's type does not tell.
	responses map[string]*huma.Response

	query []string // its query parameters; found by register
	body  string   // "", or bodyRequired or bodyOptional; found by register
}

const (
	bodyRequired = "required"
	bodyOptional = "optional"
)

// register adds a route and its typed handler to the API.
func register[I, O any](a *api, r route, handler func(context.Context, *I) (*O, error)) {
	r.maxBody = cmp.Or(r.maxBody, maxBodyBytes)
	op := huma.Operation{
		OperationID: r.name, Method: r.method, Path: r.path, Tags: []string{r.tag}, Summary: r.summary,
		Description:   strings.TrimSpace(r.description + fmt.Sprintf("\n\nLeast role: %s.", r.role)),
		DefaultStatus: r.status, Responses: maps.Clone(r.responses), MaxBodyBytes: -1, // wellSaid bounds it
		Extensions: map[string]any{"x-role": r.role.String()},
	}
	if op.Responses == nil {
		op.Responses = make(map[string]*huma.Response)
	}
	errs := append([]int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge,
	}, r.also...)
	if r.method == http.MethodPost {
		errs = append(errs, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	for _, status := range errs {
		op.Responses[strconv.Itoa(status)] = a.errorResponse(status)
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, a.failed(ctx, err)
		}
		return out, nil
	})
	documented := a.operation(r.method, r.path)
	for _, p := range documented.Parameters {
		if p.In == "query" {
			r.query = append(r.query, p.Name)
		}
		if p.Schema != nil && len(p.Schema.Examples) > 0 {
			p.Example = p.Schema.Examples[0]
		}
	}
	slices.Sort(r.query)
	switch {
	case documented.RequestBody == nil:
	case documented.RequestBody.Required:
		r.body = bodyRequired
	default:
		r.body = bodyOptional
	}
	a.routes[r.method+" "+Prefix+r.path] = &r
}

// operation is what the documentation says of a route.
func (a *api) operation(method, path string) *huma.Operation {
	item := a.huma.OpenAPI().Paths[path]
	if method == http.MethodPost {
		return item.Post
	}
	return item.Get
}
