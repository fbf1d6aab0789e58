//go:build !linux

package nodeagent

import (
	"context"
	"errors"

	"github.com/berthproject/berth/agent/virtualnode"
)

// Run returns an error: a node that runs containers requires Linux.
func Run(context.Context, Options) error {
	return errors.New("a node that runs containers requires Linux; use simulated nodes")
}

// RunVirtual returns an error, as [Run] does.
func RunVirtual(ctx context.Context, _ *virtualnode.Pool, _ virtualnode.Options, o Options) error {
	return Run(ctx, o)
}
