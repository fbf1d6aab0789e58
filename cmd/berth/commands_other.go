//go:build !linux

package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

func linuxCommands() []*cobra.Command { return nil }

// runGuard returns an error: the guard requires cgroups.
func (f *agentFlags) runGuard(context.Context, io.Writer, *rest.Config, settings.Settings) error {
	return errors.New("--guard requires Linux")
}

// demoImage is the image of demo pods; simulated nodes do not pull it.
const demoImage = "berth.dev/workload:1"

func (c *demoNodeSet) findSimulatedReason() string {
	return "running containers requires Linux"
}

func (c *demoNodeSet) prepareVirtualNodes(context.Context) error { return nil }

func (c *demoNodeSet) startVirtualNodes(*rungroup.Group) error { return nil }

func (c *demoNodeSet) printVirtualSummary(io.Writer) {}
