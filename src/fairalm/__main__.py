"""``python -m fairalm`` is the command ``fairalm``."""

from fairalm.cli import main

if __name__ == "__main__":
    main()
