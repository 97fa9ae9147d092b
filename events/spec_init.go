package events

// InitSpec says what runs before an instance.
type InitSpec struct {
	// Init runs to its end before the instance's own container is made, at least once before each attempt. Where it
	// ends with another exit code than 0 the attempt has failed.
	Init *InitContainer `json:"init,omitempty"`
}

// InitContainer is a container that prepares something and ends: a schema, a file in a volume. It has the user, the
// network, the volumes and the limits of the instance, and none of its ports.
type InitContainer struct {
	// Image is the container image. Default: the service's own.
	Image string `json:"image,omitempty"`
	// Command replaces the image's entry point.
	Command []string `json:"command,omitempty"`
	// Args replace the image's command.
	Args []string `json:"args,omitempty"`
	// Env adds environment variables to those of the service.
	Env map[string]string `json:"env,omitempty"`
}

func (s InitSpec) canonical() InitSpec {
	if s.Init == nil {
		return s
	}
	c := *s.Init
	c.Command, c.Args = orNil(c.Command), orNil(c.Args)
	if len(c.Env) == 0 {
		c.Env = nil
	}
	return InitSpec{&c}
}

func (s InitSpec) check() error {
	if s.Init == nil {
		return nil
	}
	return inField("init", checkProgram(s.Init.Image, s.Init.Command, s.Init.Args, s.Init.Env))
}

func checkProgram(image string, command, args []string, env map[string]string) error {
	if err := checkWord("image", image); err != nil {
		return err
	}
	if err := checkList("command", command); err != nil {
		return err
	}
	if err := checkList("args", args); err != nil {
		return err
	}
	return checkEnv(env)
}
