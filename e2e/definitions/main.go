package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	counts := flag.String("counts", "0,50,200", "numbers of definitions to measure")
	settle := flag.Duration("settle", 20*time.Second, "time between the last request and a measurement")
	profile := flag.String("profile", "", "write a heap profile of each process to FILE.COUNT")
	child := flag.Int("measure", -1, "measure this number of definitions in this process (internal)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *child >= 0 {
		err = measure(ctx, *child, *settle, *profile)
	} else {
		err = measureAll(ctx, strings.Split(*counts, ","), *settle, *profile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "definitions:", err)
		os.Exit(1)
	}
}

// measureAll measures each count in a separate process and prints a table.
func measureAll(ctx context.Context, counts []string, settle time.Duration, profile string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Println("| definitions | properties | RSS, MB | heap in use, MB | RSS after requests for all, MB | heap in use, MB |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, count := range counts {
		if _, err := strconv.Atoi(count); err != nil {
			return fmt.Errorf("-counts: %q: must be a number", count)
		}
		args := []string{"-measure", count, "-settle", settle.String()}
		if profile != "" {
			args = append(args, "-profile", profile+"."+count)
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout = os.Stdout
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("measuring %s definitions: %w", count, err)
		}
	}
	return nil
}
