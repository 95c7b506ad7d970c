CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, item TEXT, amount INTEGER);
INSERT INTO orders (city, item, amount) VALUES
  ('Bern', 'tea', 12), ('Bern', 'cup', 8), ('Oslo', 'tea', 30), ('Oslo', 'pot', 5), ('Riga', 'cup', 9);
