package compose

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// places finds the file and line of keys.
type places []struct {
	file string
	root *yaml.Node
}

func placesIn(files []File) places {
	p := make(places, len(files))
	for i, f := range files {
		p[i].file = f.Name
		var document yaml.Node
		if yaml.Unmarshal(f.Body, &document) == nil && len(document.Content) > 0 {
			p[i].root = document.Content[0]
		}
	}
	return p
}

// of returns the file and the line with the longest part of the path. Among equals it takes the last file, which overrides the others.
func (p places) of(path string) (file string, line int) {
	best := -1
	for _, f := range p {
		at, depth := f.root, 0
		found := 0
		for step := range strings.SplitSeq(path, ".") {
			name, _, _ := strings.Cut(step, "[")
			key, value := member(at, name)
			if key == nil {
				break
			}
			at, depth, found = value, depth+1, key.Line
		}
		if depth >= best {
			best, file, line = depth, f.file, found
		}
	}
	return file, line
}

// member returns the key and the value of a name in a mapping, through aliases.
func member(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
