package dns

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/kubernetes"
)

// addressInterval is how often Run checks whether the machine's address has changed.
const addressInterval = time.Second

// Run serves at the machine's address until ctx is done, and publishes the address through admin, a
// client that is allowed to write EndpointSlices. It follows changes of the address, for example on a laptop.
func Run(ctx context.Context, o Options, admin kubernetes.Interface) error {
	s, err := NewServer(ctx, o)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := s.serveAddress(ctx, o, admin); err != nil && ctx.Err() == nil {
			o.Log.Error(err, "Cluster DNS failed; retrying", "delay", addressInterval)
		}
		select {
		case <-ctx.Done():
		case <-time.After(addressInterval):
		}
	}
	return nil
}

// serveAddress serves until the machine's address changes. It returns at once without an address.
func (s *Server) serveAddress(ctx context.Context, o Options, admin kubernetes.Interface) error {
	address, ok := machineAddress()
	if !ok {
		return nil
	}
	l, err := Listen(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serveErr := make(chan error, 1)
	go func() { serveErr <- s.Serve(ctx, l) }()
	if err := Publish(ctx, admin, l.Address()); err != nil {
		cancel()
		return errors.Join(err, <-serveErr)
	}
	o.Log.Info("Cluster DNS started", "address", l.Address())
	for tick := time.NewTicker(addressInterval); ; {
		select {
		case err := <-serveErr:
			tick.Stop()
			return err
		case <-tick.C:
			if current, ok := machineAddress(); ok && current != address {
				tick.Stop()
				o.Log.Info("The machine's address has changed; moving cluster DNS", "from", address, "to", current)
				cancel()
				return <-serveErr
			}
		}
	}
}
