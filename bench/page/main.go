package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/simulation"
)

type options struct {
	nodes, pods, changes int
	api                  bool
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 5000, "number of nodes")
	flag.IntVar(&o.pods, "pods", 100_000, "number of pods")
	flag.IntVar(&o.changes, "changes", 100, "changes of pods per second")
	flag.BoolVar(&o.api, "api", false, "only serve the API, and print its address")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/page:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	if o.api {
		return o.serveAPI(os.Stdout)
	}
	api, stop, err := o.startAPI()
	if err != nil {
		return err
	}
	defer stop()
	page, err := ui.New(ui.Options{Cluster: &rest.Config{Host: api}, OneTimeLink: true, Answers: noAnswers()})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: time.Minute}
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	return o.measure("http://" + listener.Addr().String() + page.Link())
}

// startAPI starts the fake API server in another process.
func (o *options) startAPI() (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-api", fmt.Sprint("-nodes=", o.nodes), fmt.Sprint("-pods=", o.pods), fmt.Sprint("-changes=", o.changes))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting the API: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// measure runs the browser, which prints its figures. Between its lines "begin" and "end" it leaves the page open.
func (o *options) measure(link string) error {
	cmd := exec.Command("node", "test/scale.mjs", link, fmt.Sprint(o.nodes), fmt.Sprint(o.pods))
	cmd.Dir, cmd.Stderr = "ui/web", os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var begin time.Time
	var used time.Duration
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		switch lines.Text() {
		case "begin":
			begin, used = time.Now(), cpuTime()
		case "end":
			share := float64(cpuTime()-used) / float64(time.Since(begin))
			fmt.Printf("server: %.2f %% of a core at %d changes/s with one page open, over %v\n", 100*share, o.changes, time.Since(begin).Round(time.Second))
		default:
			fmt.Println(lines.Text())
		}
	}
	return errors.Join(lines.Err(), cmd.Wait())
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// noAnswers returns answers that the measured view does not request.
func noAnswers() ui.Answers {
	none := errors.New("not part of the measurement")
	list := func(context.Context, *rest.Config, string) ([]byte, error) { return nil, none }
	return ui.Answers{Queue: list, Displacements: list, NodePressure: list, NodeDisk: list,
		Pod:         func(context.Context, *rest.Config, string, string) ([]byte, error) { return nil, none },
		Drain:       func(context.Context, *rest.Config, []string, drain.Options) ([]byte, error) { return nil, none },
		Zones:       func(context.Context, *rest.Config) ([]byte, error) { return nil, none },
		Descheduler: func(context.Context, *rest.Config, *int) ([]byte, error) { return nil, none },
		Simulate: func(context.Context, *rest.Config, ui.SimulationRequest, func(*simulation.Frame) error) (*simulation.Result, error) {
			return nil, none
		}}
}

// serveAPI serves the API until the process is killed.
func (o *options) serveAPI(w io.Writer) error {
	a, err := newAPI(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "http://%s\n", listener.Addr())
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}
