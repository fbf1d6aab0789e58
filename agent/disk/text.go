package disk

import (
	"fmt"
	"io"
	"strings"

	"github.com/berthproject/berth/internal/table"
)

// maxListed is the maximum number of consumers in the text output unless all are requested.
const maxListed = 20

// Text writes a human-readable report: the file systems, the usage by kind, and the largest consumers.
// If all is true, it writes all consumers.
func (r *Report) Text(out io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Disks of node %s\n\n", r.Node)
	fileSystems := table.New(table.Columns("FILE SYSTEM", "DIRECTORY", "SIZE", "USED", "AVAILABLE", "INODES USED"), nil)
	for _, f := range r.FileSystems {
		fileSystems.AddRow(strings.Join(f.Names, ", "), f.Dir, FormatBytes(f.Capacity),
			fmt.Sprintf("%s (%s)", FormatBytes(f.Used), formatPercent(f.Used, f.Capacity)), FormatBytes(f.Available), fmt.Sprintf("%d (%s)", f.InodesUsed, formatPercent(f.InodesUsed, f.Inodes)))
	}
	_ = fileSystems.Write(&b, false)
	b.WriteString("\n")
	_ = r.kinds().Write(&b, false)
	b.WriteString("\n")
	consumers := table.New(table.Columns("SIZE", "KIND", "NAME", "POD", "INODES", "NOTE"), nil)
	consumers.Key = 3
	shown := r.Consumers
	if !all {
		shown = shown[:min(len(shown), maxListed)]
	}
	for _, c := range shown {
		pod := c.Pod
		if pod == "" {
			pod = "-"
		}
		consumers.AddRow(FormatBytes(c.Bytes), c.Kind, c.Name, pod, fmt.Sprint(c.Inodes), c.note())
	}
	_ = consumers.Write(&b, false)
	if hidden := r.Consumers[len(shown):]; len(hidden) > 0 {
		bytes := int64(0)
		for _, c := range hidden {
			bytes += c.Bytes
		}
		fmt.Fprintf(&b, "%s in %d more; list them with -o json or --pods\n", FormatBytes(bytes), len(hidden))
	}
	for _, reason := range r.Unknown {
		fmt.Fprintf(&b, "\nNot measured: %s\n", reason)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// kinds returns the usage of each kind of consumer, and the other usage of each file system.
func (r *Report) kinds() *table.Table {
	t := table.New(table.Columns("USED BY", "COUNT", "SIZE", "SHARE OF USED"), nil)
	used := int64(0)
	for _, f := range r.FileSystems {
		used += f.Used
	}
	for _, kind := range []string{Image, WritableLayer, TerminatedContainer, Log, Volume, Orphan} {
		count, bytes := 0, int64(0)
		for _, c := range r.Consumers {
			if c.Kind == kind {
				count, bytes = count+1, bytes+c.Bytes
			}
		}
		if count > 0 {
			t.AddRow(kind+"s", fmt.Sprint(count), FormatBytes(bytes), formatPercent(bytes, used))
		}
	}
	for _, f := range r.FileSystems {
		t.AddRow("other ("+f.Names[0]+")", "", FormatBytes(f.Other), formatPercent(f.Other, used))
	}
	return t
}

// note returns the NOTE column.
func (c *Consumer) note() string {
	if c.Kind != Image {
		return ""
	}
	var notes []string
	switch {
	case c.Users == 1:
		notes = append(notes, "used by 1 container")
	case c.Users > 1:
		notes = append(notes, fmt.Sprintf("used by %d containers", c.Users))
	case c.Pinned:
		notes = append(notes, "pinned")
	default:
		notes = append(notes, "unused")
	}
	if c.Shared > 0 {
		notes = append(notes, fmt.Sprintf("shares %s with other images", FormatBytes(c.Shared)))
	}
	return strings.Join(notes, "; ")
}

// FormatBytes formats a size in the largest unit in which it is at least 10, such as 1536Mi or 12Ki.
func FormatBytes(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for bytes >= 10<<10 && i < len(units)-1 {
		bytes, i = (bytes+512)/1024, i+1
	}
	if bytes == 0 {
		return "0"
	}
	return fmt.Sprintf("%d%s", bytes, units[i])
}

func formatPercent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d %%", (part*100+whole/2)/whole)
}
