"""What every room uses: errors, units, files, arrays, and numbers and labels as people read them."""
