package apiserver

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/berthproject/berth/apiserver/fairness"
	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/quantities"
	"github.com/berthproject/berth/apiserver/scheme"
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

// newQuantityChecker returns a checker of the quantities in requests for the kinds of the table.
func newQuantityChecker(table []kinds.Kind, set *scheme.Set) *quantities.Checker {
	types := map[schema.GroupVersionResource]reflect.Type{}
	for _, k := range table {
		types[k.GroupVersion.WithResource(k.Resource)] = reflect.TypeOf(k.New())
	}
	return quantities.New(set.Scheme, types)
}
