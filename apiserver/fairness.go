package apiserver

import (
	"context"
	"fmt"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/berthproject/berth/apiserver/fairness"
)

// maintainFairness creates the priority levels and flow schemas and maintains them. It retries like
// bootstrap.
func (s *Server) maintainFairness(hook genericapiserver.PostStartHookContext) error {
	ctx, cancel := context.WithTimeout(hook, bootstrapTimeout)
	defer cancel()
	for {
		err := fairness.Bootstrap(ctx, s.client)
		if err == nil {
			go fairness.Run(hook, s.client)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("creating priority levels and flow schemas: %w", err)
		case <-time.After(readyPollInterval):
		}
	}
}
