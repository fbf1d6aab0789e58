package main

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/leaderelection"
)

// runWithLease runs work while holding a Lease, through a connection that closes with it.
func runWithLease(ctx context.Context, e leaderelection.Election, config *rest.Config, out io.Writer, work func(context.Context, *rest.Config) error) error {
	leases, gated, gate, err := gatedClients(&e, config)
	if err != nil {
		return err
	}
	e.OnNewLeader = printLeader(&e, out)
	return e.Run(ctx, leases, gate, func(ctx context.Context) error { return work(ctx, gated) })
}

// gatedClients is what an election needs: a client for the Lease alone, and the configuration of one that
// sends only while it is held.
func gatedClients(e *leaderelection.Election, config *rest.Config) (lease kubernetes.Interface, gated *rest.Config, gate *leaderelection.Gate, err error) {
	own := rest.CopyConfig(config) // a connection of its own: no queue of requests may delay a renewal
	own.QPS, own.Timeout = -1, e.RenewDeadline/2
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, nil, nil, err
	}
	gate, gated = leaderelection.NewGate(e.RenewDeadline), rest.CopyConfig(config)
	gated.Wrap(gate.Wrap)
	return client, gated, gate, nil
}

// printLeader tells who holds the Lease that is waited for.
func printLeader(e *leaderelection.Election, out io.Writer) func(leader string, me bool) {
	namespace, name := e.Namespace, e.Name
	return func(leader string, me bool) {
		if !me && leader != "" {
			fmt.Fprintf(out, "waiting for the Lease %s/%s, which %s holds\n", namespace, name, leader)
		}
	}
}
