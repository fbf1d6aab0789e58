package testprogram

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// runCommand runs a built-in command, for probes and exec in images without a shell.
func runCommand(args []string, out, errOut io.Writer) int {
	name, args := args[0], args[1:]
	var err error
	switch {
	case name == "true" && len(args) == 0:
	case name == "false" && len(args) == 0:
		return 1
	case name == "exit" && len(args) == 1:
		var code int
		if code, err = strconv.Atoi(args[0]); err == nil {
			return code
		}
	case name == "echo":
		fmt.Fprintln(out, strings.Join(args, " "))
	case name == "env" && len(args) == 0:
		fmt.Fprintln(out, strings.Join(os.Environ(), "\n"))
	case name == "cat":
		err = cat(args, out)
	case name == "exists" && len(args) == 1:
		_, err = os.Stat(args[0])
	case name == "touch" && len(args) == 1:
		err = os.WriteFile(args[0], nil, 0o644)
	case name == "remove" && len(args) == 1:
		err = os.Remove(args[0])
	case name == "sleep" && len(args) == 1:
		var d time.Duration
		if d, err = time.ParseDuration(args[0]); err == nil {
			time.Sleep(d)
		}
	case name == "requests" && len(args) >= 3:
		err = sendRequests(args[0], args[1], args[2:], out)
	case name == "get" && len(args) == 1:
		err = httpGet(args[0], out)
	default:
		fmt.Fprintf(errOut, "workload: %s with %d arguments: expected flags (see -help), or true, false, exit CODE, echo WORDS, env, cat FILES, exists FILE, touch FILE, remove FILE, sleep DURATION, get URL, requests RATE DURATION URLS\n", name, len(args))
		return 2
	}
	if err != nil {
		fmt.Fprintln(errOut, "workload:", err)
		return 1
	}
	return 0
}

// cat prints files, or the standard input if files is empty.
func cat(files []string, out io.Writer) error {
	if len(files) == 0 {
		_, err := io.Copy(out, os.Stdin)
		return err
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// httpGet prints the response body of a GET request. Status codes from 400 are errors.
func httpGet(url string, out io.Writer) error {
	r, err := (&http.Client{Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(out, r.Body); err != nil {
		return err
	}
	if r.StatusCode >= 400 {
		return fmt.Errorf("%s returned %s", url, r.Status)
	}
	return nil
}
