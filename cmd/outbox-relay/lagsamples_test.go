package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A topic of lag samples that hangs holds the end for a second, and is no failure of the service.
func TestLagSamplesThatHangDoNotHoldTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		s := &service{log: zap.New(core)}
		s.cleanUpSamples(func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("flush lag samples: %w", ctx.Err())
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of fake time
		defer cancel()
		began := time.Now()
		if err := s.close(ctx); err != nil {
			t.Errorf("close = %v", err)
		}
		if took := time.Since(began); took != flushSamplesWithin {
			t.Errorf("it took %v, want %v", took, flushSamplesWithin)
		}
		if logs.Len() != 1 {
			t.Errorf("logged are %v, want one warning", logs.All())
		}
	})
}
