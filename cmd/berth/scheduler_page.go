package main

import (
	"fmt"
	"io"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/answers"
)

// startPage serves the web page until stop is closed, if the flag has an address, and prints its address. The caller
// waits until stopped is closed.
func (f *schedulerFlags) startPage(out io.Writer, c *rest.Config, stop <-chan struct{}) (stopped <-chan struct{}, err error) {
	if f.page.address == "" {
		none := make(chan struct{})
		close(none)
		return none, nil
	}
	cluster := rest.AnonymousClientConfig(c) // requests have the credentials of the page's users only
	cluster.UserAgent = "berth-ui"
	source := answers.Source{Settings: f.settings, Journal: f.journal, Policy: config.DefaultDescheduler().Policy}
	page, err := ui.New(ui.Options{Cluster: cluster, Answers: source.Answers()})
	if err != nil {
		return nil, err
	}
	address, stopped, err := f.page.serve(page, nil, nil, stop)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "Web page at https://%s/ui/\n", address)
	return stopped, nil
}
