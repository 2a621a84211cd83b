package admin

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// schemaOf documents a type and returns a reference to it.
func schemaOf[T any](a *api) *huma.Schema {
	t := reflect.TypeFor[T]()
	return a.huma.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// answers documents a success of a type.
func answers[T any](a *api, description string) *huma.Response {
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](a)}}}
}
