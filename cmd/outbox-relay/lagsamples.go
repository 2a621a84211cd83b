package main

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// flushSamplesWithin bounds the flush of lag samples at the end. Where their topic answers it
// takes milliseconds; where it does not, samples of the last second are worth no longer stop.
const flushSamplesWithin = time.Second

// cleanUpSamples has the end flush lag samples. To lose some is worth a warning: all that was
// promised was done, and the exit code says so.
func (s *service) cleanUpSamples(flush func(context.Context) error) {
	s.cleanUp("lag samples", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, flushSamplesWithin)
		defer cancel()
		if err := flush(ctx); err != nil {
			s.log.Warn("the last lag samples are lost", zap.Error(err))
		}
		return nil
	})
}
