package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var err error
	switch name := filepath.Base(os.Args[0]); name {
	case "nginx", "httpd":
		err = serve(name, os.Getenv("PORT"))
	case "ipcs":
		err = listSharedMemory()
	case "pgrep":
		err = findProcesses(os.Args[1:])
	case "nnp":
		fmt.Printf("Effective uid: %d\n", os.Geteuid())
	default:
		err = fmt.Errorf("name %q: must be nginx, httpd, ipcs, pgrep or nnp", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves a page until SIGTERM, SIGINT or SIGQUIT. It writes its process ID like nginx.
func serve(name, port string) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	if err := os.MkdirAll("/var/run", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("/var/run", name+".pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return err
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<title>Welcome to nginx!</title>\n")
	})
	server := &http.Server{Addr: ":" + port, Handler: page, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	fmt.Println(name, "serves port", port)
	select {
	case err := <-failed:
		return err
	case <-stop:
		return nil
	}
}

// listSharedMemory prints the kernel's table of shared memory segments.
func listSharedMemory() error {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

// findProcesses prints the IDs of the processes with the only name in names.
func findProcesses(names []string) error {
	if len(names) != 1 {
		return errors.New("pgrep: requires one name")
	}
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range files {
		if name, readErr := os.ReadFile(file); readErr == nil && strings.TrimSpace(string(name)) == names[0] {
			fmt.Println(filepath.Base(filepath.Dir(file)))
		}
	}
	return err
}
