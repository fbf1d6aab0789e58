package main

import (
	"fmt"
	"io"
	"time"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/reports"
	"github.com/berthproject/berth/internal/settings"
)

// explainAt prints the explanation of a pod in the recorded state of a time.
func (s *objectSource) explainAt(w io.Writer, loaded settings.Settings, journalPath, namespace, name, text string, output *cli.Output, nodes bool) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("--at %q: must be a time such as 2026-03-01T12:00:00Z", text)
	}
	if len(s.dumps) > 0 {
		return fmt.Errorf("--at %q: evaluates the recorded state: remove -f", text)
	}
	dir, err := journalDir(journalPath, &s.Cluster)
	if err != nil {
		return err
	}
	if dir == "" {
		return fmt.Errorf("--at %q: no journal next to the kubeconfig: set --journal to the journal directory of berth up or berth scheduler", text)
	}
	pod, err := reports.ExplainRecordedPod(loaded, dir, namespace, name, at)
	if err != nil {
		return err
	}
	return output.Print(w, cli.Printable{Object: cli.JSONText(pod.JSON), Text: func(w io.Writer, _ bool) error {
		switch p := pod.(type) {
		case *explain.PodExplanation:
			return p.Text(w, nodes)
		case explain.DeletedPod:
			return p.Text(w)
		default:
			return fmt.Errorf("explaining a pod: unexpected type %T", pod)
		}
	}})
}
