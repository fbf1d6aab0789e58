package main

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/control/lead"
)

// elected runs work while holding a Lease, through a connection that closes with it.
func elected(ctx context.Context, e lead.Election, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	leases := rest.CopyConfig(config) // a connection of its own: no queue of requests may delay a renewal
	leases.QPS, leases.Timeout = -1, e.RenewDeadline/2
	client, err := kubernetes.NewForConfig(leases)
	if err != nil {
		return err
	}
	gate := lead.NewGate(e.RenewDeadline)
	config = rest.CopyConfig(config)
	config.Wrap(gate.Wrap)
	e.Elected = func(leader string, me bool) {
		if !me && leader != "" {
			fmt.Fprintf(out, "waiting for the Lease %s/%s, which %s holds\n", e.Namespace, e.Name, leader)
		}
	}
	return e.Run(ctx, client, gate, func(ctx context.Context) error { return work(ctx, config) })
}
