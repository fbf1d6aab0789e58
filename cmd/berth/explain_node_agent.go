package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
)

// explainNodeAgent prints the disk or pressure report of the agent on a node.
func explainNodeAgent(ctx context.Context, w io.Writer, source objectSource, node, reportName string, output *cli.Output, all bool) error {
	if len(source.dumps) > 0 {
		return fmt.Errorf("explain node %s --%s: -f %s: a dump has no reports of agents; remove -f", node, reportName, source.dumps[0])
	}
	config, err := source.Config("berth-explain")
	if err != nil {
		return err
	}
	var report interface {
		Text(w io.Writer, all bool) error
	} = &disk.Report{}
	if reportName == reports.PressureReport {
		report = &pressure.Report{}
	}
	data, err := reports.ReadAgentReport(ctx, config, node, reportName)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, report); err != nil {
		return fmt.Errorf("node %s: decoding the %s report: %w", node, reportName, err)
	}
	return output.Print(w, cli.Printable{Object: report, Text: func(w io.Writer, _ bool) error { return report.Text(w, all) }})
}
