package sibling

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Part is what runs as part of a sibling, or is one.
type Part interface {
	// Run works until ctx ends. All that it started has ended then. An error is a
	// fault of the program: outages are waited through.
	Run(ctx context.Context) error
}

// Together runs the parts of a sibling until ctx ends, or until one fails, which
// ends the others. A panic is a failure that names the sibling.
func Together(ctx context.Context, sibling string, parts ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		g.Go(func() error { return Guarded(func() error { return part(ctx) }) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("run %s: %w", sibling, err)
	}
	return nil
}
