package safetensors

// skip reads over one value of any kind, checking its grammar, without
// recursion: open is the stack of closing bytes.
func (c *cursor) skip() error {
	var stack [maxDepth]byte
	depth := 0
	for {
		opened, err := c.scalarOrOpen(&stack, &depth)
		if err != nil {
			return err
		}
		first := opened
		for depth > 0 {
			closing := stack[depth-1]
			more, err := c.more(closing, first)
			if err != nil {
				return err
			}
			if more {
				if closing == '}' {
					if _, err := c.key(); err != nil {
						return err
					}
				}
				break
			}
			depth, first = depth-1, false
		}
		if depth == 0 {
			return nil
		}
	}
}

// scalarOrOpen consumes a scalar, or the opening byte of a list or an object,
// which it pushes.
func (c *cursor) scalarOrOpen(stack *[maxDepth]byte, depth *int) (opened bool, err error) {
	switch ch := c.peek(); ch {
	case '{', '[':
		if *depth == maxDepth {
			return false, c.fail("nests deeper than %d", maxDepth)
		}
		c.at++
		stack[*depth] = ch + 2 // '{' + 2 is '}', '[' + 2 is ']'
		*depth++
		return true, nil
	case '"':
		_, err := c.str()
		return false, err
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if c.literal(word) {
				return false, nil
			}
		}
		return false, c.fail("has an unknown word")
	}
	_, err = c.number()
	return false, err
}
