//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/table"
)

// imageJSON is an image in -o json and yaml.
type imageJSON struct {
	ID      string   `json:"id"`
	Names   []string `json:"names"`
	Digests []string `json:"digests"`
	Bytes   int64    `json:"bytes"` // on disk
	Inodes  int64    `json:"inodes"`
	Layers  int      `json:"layers"`
	Builtin bool     `json:"builtin,omitempty"`
}

// printImages prints images as a table, JSON or YAML.
func (f *imageFlags) printImages(out io.Writer, images []store.Image) error {
	list := []imageJSON{}
	for _, i := range images {
		list = append(list, imageJSON{i.ID, append([]string{}, i.RepoTags...), append([]string{}, i.RepoDigests...), i.Bytes, i.Inodes, len(i.LowerDirs), i.Builtin})
	}
	return f.output.Print(out, cli.Printable{Object: list, Text: func(w io.Writer, wide bool) error { return imageTable(images).Write(w, wide) }})
}

// imageTable returns a row for each name of each image.
func imageTable(images []store.Image) *table.Table {
	t := table.New(table.Columns("NAME", "ID", "ON DISK", "FILES", ""), table.WideColumns("LAYERS", "DIGEST"))
	for _, i := range images {
		names, note, digest := i.RepoTags, "", "-"
		if len(names) == 0 {
			names = []string{"<none>"}
		}
		if i.Builtin {
			note = "built in"
		}
		if len(i.RepoDigests) > 0 {
			_, digest, _ = strings.Cut(i.RepoDigests[0], "@")
		}
		for _, name := range names {
			t.AddRow(name, strings.TrimPrefix(i.ID, "sha256:")[:12], formatBytes(i.Bytes), fmt.Sprint(i.Inodes), note, fmt.Sprint(len(i.LowerDirs)), digest)
		}
	}
	return t
}

func formatBytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// pullProgress shows the progress of all layers as one bar.
type pullProgress struct {
	mu     sync.Mutex
	bar    *cli.ProgressBar    // nil if the output is not a file
	layers map[string][2]int64 // transferred and total bytes by layer
}

func newPullProgress(out io.Writer) *pullProgress {
	p := &pullProgress{layers: map[string][2]int64{}}
	if f, ok := out.(*os.File); ok {
		p.bar = &cli.ProgressBar{W: f}
	}
	return p
}

// update implements store.Progress.
func (p *pullProgress) update(layer string, done, total int64) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layers[layer] = [2]int64{done, total}
	var sum [2]int64
	for _, l := range p.layers {
		sum[0], sum[1] = sum[0]+l[0], sum[1]+l[1]
	}
	p.bar.Show(int(sum[0]>>20), int(sum[1]>>20), fmt.Sprintf("MiB of %d layer(s)", len(p.layers)))
}

func (p *pullProgress) done() {
	if p.bar != nil {
		p.bar.Done()
	}
}
