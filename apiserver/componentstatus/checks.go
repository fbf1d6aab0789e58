package componentstatus

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Names of the components in the ComponentStatus API.
const (
	Scheduler         = "scheduler"
	ControllerManager = "controller-manager"
)

// A Check returns why a component is unhealthy, or nil if it is healthy. It must return when ctx is done.
type Check func(ctx context.Context) error

// Checks holds the check of each component. It may be used concurrently.
type Checks struct {
	mu     sync.Mutex
	byName map[string]Check
}

// Set replaces the check of a component.
func (c *Checks) Set(name string, check Check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]Check{}
	}
	c.byName[name] = check
}

// get returns the check of a component.
func (c *Checks) get(name string) (Check, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	check, ok := c.byName[name]
	return check, ok
}

// names returns the names of the components in random order.
func (c *Checks) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.byName {
		names = append(names, name)
	}
	return names
}

// HTTPS returns a check that reads /healthz from address, a HOST:PORT. The check sends no credentials. Like Kubernetes,
// it does not verify the serving certificate: the component is on this machine and may have a self-signed one.
func HTTPS(address string) Check {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP status %d: %s", response.StatusCode, strings.TrimSpace(string(body)))
		}
		return nil
	}
}
