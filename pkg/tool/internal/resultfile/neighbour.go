package resultfile

import (
	"fmt"
)

// A Neighbour is a kind of file that a tool writes beside its file of requests, and that
// users can name by mistake.
type Neighbour struct {
	Is func(*Outline) bool
	// its kind and contents, and the file to give instead.
	What, Holds, Give string
}

// neighbourOf returns the kind of neighbour that a file is, the first in the list; nil for none.
func neighbourOf(neighbours []Neighbour, o *Outline) *Neighbour {
	for i := range neighbours {
		if neighbours[i].Is(o) {
			return &neighbours[i]
		}
	}
	return nil
}

// refuse returns the error for a file that is one of the neighbours.
func refuse(neighbours []Neighbour, f *File) error {
	head := make([]byte, min(f.size, 4<<10))
	if _, err := f.Src.ReadAt(head, 0); err != nil && int64(len(head)) != f.size {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	n := neighbourOf(neighbours, outlineOf(head))
	if n == nil {
		return fmt.Errorf("%s: changed while it was opened; try again", f.Name)
	}
	return fmt.Errorf("%s: is %s, which holds %s and no requests; give %s", f.Name, n.What, n.Holds, n.Give)
}
