(** What [check_which] accepts is private over all events, between all neighbours, and no private mechanism that begins with a
    row whose others are alike has a prefix sum, at any distance, that is larger by 2^-60 or more. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool Permutation.
From Duotone Require Import Step Graph Sum Table Margin MarginPrivate LineCheck LineCertificate Exponential ReadCertificate.
From Duotone Require Import VerifiedCheck Which WhichCheck.
Import ListNotations.
Open Scope R_scope.

(** The chance of each place in a row; the others share what stands for them together. *)
Definition chance_of (one k : Z) (together : bool) (row : list Z) (i : nat) : R :=
  if together then alike (Z.to_nat k) (Table.part one (hd 0%Z row)) i else Table.part one (nth i row 0%Z).

(** The row of a distance; beyond the last one it stays. *)
Definition row_at (rows : list (list Z)) (m : nat) : list Z := nth m rows (last rows []).

(** A dataset has an answer and a distance. *)
Definition beside (s s' : nat * nat) : Prop :=
  fst s = fst s' /\ (Z.abs (Z.of_nat (snd s) - Z.of_nat (snd s')) <= 1)%Z \/ snd s = 0%nat /\ snd s' = 0%nat.

(** A place is drawn, and the answer there, in the order of the true one, is released. *)
Definition released (one k : Z) together rows (orders : nat -> list nat) (s : nat * nat) (T : nat -> bool) : R :=
  likely (Z.to_nat k) (chance_of one k together (row_at rows (snd s))) (fun i => T (nth i (orders (fst s)) 0%nat)).

Lemma total_constant n c : total n (fun _ => c) = INR n * c.
Proof. induction n as [| n IH]; [cbn; ring|]. cbn [total]. rewrite IH, S_INR. ring. Qed.

Lemma same_private (P : privacy) n p : distribution n p -> both_ways P n p p.
Proof. intros D T. pose proof (likely_probability n p T D) as [? ?]. of_privacy P. split; nra. Qed.

Lemma both_ways_sym P n p q : both_ways P n p q -> both_ways P n q p.
Proof. intros H T. destruct (H T). split; assumption. Qed.

Lemma first_total t q n : total (S n) (first t q) = t + INR n * q.
Proof. rewrite total_first. cbn [first]. rewrite total_constant. reflexivity. Qed.

Lemma first_prefix t q n j : (j <= n)%nat -> likely (S n) (first t q) (fun i => Nat.leb i j) = t + INR j * q.
Proof.
  intros L. unfold likely. rewrite total_first. cbn [first Nat.leb].
  assert (E : forall m, total m (fun i => (if Nat.leb (S i) j then 1 else 0) * q) = INR (Nat.min m j) * q).
  { induction m as [| m IH]; [cbn; ring|]. cbn [total]. rewrite IH. destruct (Nat.leb_spec (S m) j).
    - rewrite !Nat.min_l, S_INR by lia. ring.
    - rewrite !Nat.min_r by lia. ring. }
  rewrite (total_ext n _ (fun i => (if Nat.leb (S i) j then 1 else 0) * q)) by reflexivity.
  rewrite E, Nat.min_r by exact L. ring.
Qed.

Section Right.
Variables (one : Z) (y above d small_y small_d : Q) (k : Z) (together : bool) (P : privacy).
Hypothesis one_positive : (0 < one)%Z.
Hypotheses (ratio_least : 1 <= Q2R y <= ratio P) (ratio_most : ratio P <= Q2R above).
Hypothesis delta_is : delta P = Q2R d.
Hypothesis some_answers : (2 <= k)%Z.
Variable rows : list (list Z).
Hypothesis accepted : check_which one y above d small_y small_d k together rows = true.

Let n := Z.to_nat k.
Let from t := Table.part one t.
Let chances := chance_of one k together.

Let One : 0 < IZR one.
Proof. apply IZR_lt; assumption. Qed.

Let from_add a b : from (a + b) = from a + from b.
Proof. unfold from, Table.part. rewrite plus_IZR. field. lra. Qed.

Let from_0 : from 0 = 0.
Proof. unfold from, Table.part, Rdiv. ring. Qed.

Let from_one : from one = 1.
Proof. unfold from, Table.part. field. lra. Qed.

Let many_answers : (2 <= n)%nat.
Proof. unfold n. lia. Qed.

Let INR_answers : INR (n - 1) = IZR (k - 1).
Proof. rewrite INR_IZR_INZ. f_equal. unfold n. lia. Qed.

Lemma row_is row : which_row one k together row = true ->
  (forall i, (0 <= nth i row 0 <= one)%Z) /\ sum_of row = one /\ length row = (if together then 2 else n)%nat.
Proof.
  unfold which_row. rewrite !andb_true_iff, Z.eqb_eq, Z.eqb_eq, forallb_forall, many_length. intros [[R S] L].
  split; [|split; [exact S | destruct together; unfold n; lia]].
  intros i. destruct (Nat.lt_ge_cases i (length row)) as [I | I]; [|rewrite nth_overflow by exact I; lia].
  specialize (R _ (nth_In row 0%Z I)). rewrite andb_true_iff, !Z.leb_le in R. exact R.
Qed.

Lemma row_total row : total (length row) (fun i => from (nth i row 0%Z)) = from (sum_of row).
Proof.
  induction row as [| a row IH]; [symmetry; exact from_0|]. cbn [length]. rewrite total_first. cbn [nth]. rewrite IH.
  symmetry. apply from_add.
Qed.

Lemma chances_distribution row : which_row one k together row = true -> distribution n (chances row).
Proof.
  intros W. destruct (row_is row W) as (R & S & L). unfold chances, chance_of. fold n. destruct together.
  - assert (Q : probability (from (hd 0%Z row))).
    { apply part_probability; [exact one_positive|]. specialize (R 0%nat). destruct row; exact R. }
    destruct Q as [Q0 Q1]. fold (from (hd 0%Z row)). set (t := from (hd 0%Z row)) in *.
    assert (N : 0 < INR (n - 1)) by (apply lt_0_INR; lia). split.
    + intros [| i] _; cbn [alike]; [exact Q0|]. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat, N].
    + replace n with (Datatypes.S (n - 1)) by lia. rewrite total_first. cbn [alike].
      replace (Datatypes.S (n - 1)) with n by lia. rewrite total_constant. field. lra.
  - split; [intros i _; apply (part_probability one one_positive), R|]. rewrite <- L, row_total, S. exact from_one.
Qed.

(** An event of places as a set of numbers. *)
Lemma heard_likely row T m : total (length row) (fun i => (if T (m + i)%nat : bool then 1 else 0) * from (nth i row 0%Z)) =
  from (heard row (- Z.of_nat m) (fun j => T (Z.to_nat (- j)))).
Proof.
  revert m; induction row as [| a row IH]; intros m; [symmetry; exact from_0|]. cbn [length heard].
  rewrite total_first, from_add. cbn [nth]. rewrite Nat.add_0_r. replace (Z.to_nat (- - Z.of_nat m)) with m by lia. f_equal.
  - destruct (T m); [ring | rewrite from_0; ring].
  - replace (- Z.of_nat m - 1)%Z with (- Z.of_nat (Datatypes.S m))%Z by lia. rewrite <- IH.
    apply total_ext. intros i _. rewrite Nat.add_succ_r. reflexivity.
Qed.

Let by_ratio p q : 0 <= q -> p <= Q2R y * q + Q2R d -> p <= ratio P * q + delta P.
Proof. intros. rewrite delta_is. nra. Qed.

Lemma next_private a b : which_row one k together a = true -> which_row one k together b = true ->
  over_all_events one y d a b = true -> both_ways P n (chances a) (chances b).
Proof.
  intros A B H. destruct (row_is a A) as (Ra & Sa & La), (row_is b B) as (Rb & Sb & Lb).
  pose proof (chances_distribution a A) as Da. pose proof (chances_distribution b B) as Db.
  assert (F : forall j S, from (heard a j S) <= Q2R y * from (heard b j S) + Q2R d /\
                          from (heard b j S) <= Q2R y * from (heard a j S) + Q2R d).
  { intros j S. destruct (over_all_events_fits one y d a b j S ltac:(lia) H) as [X Y].
    split; apply (fits_iff one y d one_positive); assumption. }
  unfold chances, chance_of in Da, Db |- *. fold n in Da, Db |- *. destruct together.
  - destruct a as [| t [| w [| ]]], b as [| t' [| w' [| ]]]; try discriminate. cbn [hd sum_of fold_right] in *.
    pose proof (Ra 0%nat) as R0. pose proof (Rb 0%nat) as R1. cbn [nth] in R0, R1.
    pose proof (part_probability one one_positive t R0) as [? ?]. pose proof (part_probability one one_positive t' R1) as [? ?].
    pose proof (F 0%Z (fun j => j =? 0)%Z) as [F1 F2]. pose proof (F 0%Z (fun j => j =? -1)%Z) as [F3 F4].
    assert (E1 : forall u v, heard [u; v] 0 (fun j => j =? 0)%Z = u) by (intros; cbn; lia).
    assert (E2 : forall u v, heard [u; v] 0 (fun j => j =? -1)%Z = v) by (intros; cbn; lia).
    rewrite !E1 in F1, F2. rewrite !E2 in F3, F4.
    replace w with (one - t)%Z in F3, F4 by lia. replace w' with (one - t')%Z in F3, F4 by lia.
    unfold from in F1, F2, F3, F4. rewrite <- !part_no in F3, F4 by exact one_positive.
    apply alike_private; try (split; assumption); try exact many_answers; apply le_step; rewrite delta_is; repeat split; nra.
  - intros T. pose proof (likely_probability _ _ T Da) as [? _]. pose proof (likely_probability _ _ T Db) as [? _].
    unfold likely in *. pose proof (heard_likely a T 0) as Ea. pose proof (heard_likely b T 0) as Eb.
    cbn [Nat.add] in Ea, Eb. rewrite La in Ea. rewrite Lb in Eb. unfold from in Ea, Eb, F. rewrite Ea, Eb in *.
    destruct (F (- Z.of_nat 0)%Z (fun j => T (Z.to_nat (- j)))). split; apply by_ratio; assumption.
Qed.

Lemma neighbours_are l m : neighbours_private one y d l = true -> (S m < length l)%nat ->
  over_all_events one y d (nth m l []) (nth (S m) l []) = true.
Proof.
  revert m; induction l as [| a l IH]; intros m H L; cbn [length] in L; [lia|]. cbn [neighbours_private] in H.
  apply andb_prop in H as [H1 H2]. destruct m; [|apply IH; [exact H2 | lia]]. destruct l; [cbn in L; lia | exact H1].
Qed.

Let parts : exists row rest, rows = row :: rest /\ forallb (which_row one k together) rows = true /\
  first_row one y d small_y small_d k together row = true /\ neighbours_private one y d rows = true /\
  which_columns one above d small_y small_d k (k - 1) (length row - 1)%nat (map (running 0) rows) = true.
Proof.
  unfold check_which in accepted. destruct rows as [| row rest]; [discriminate|]. rewrite !andb_true_iff in accepted.
  exists row, rest. tauto.
Qed.

Lemma row_at_is m : which_row one k together (row_at rows m) = true /\
  (row_at rows (S m) = row_at rows m \/ over_all_events one y d (row_at rows m) (row_at rows (S m)) = true).
Proof.
  destruct parts as (row & rest & E & W & _ & N & _). rewrite forallb_forall in W. unfold row_at.
  assert (Z0 : (1 <= length rows)%nat) by (rewrite E; cbn; lia). split.
  - apply W. destruct (Nat.lt_ge_cases m (length rows)) as [L | L]; [apply nth_In, L|]. rewrite nth_overflow by exact L.
    rewrite E. rewrite last_nth. apply nth_In. cbn [length]. lia.
  - destruct (Nat.lt_ge_cases (S m) (length rows)) as [L | L].
    + right. rewrite !(nth_indep rows (last rows []) []) by lia. apply neighbours_are; assumption.
    + left. rewrite (nth_overflow rows) by exact L. destruct (Nat.lt_ge_cases m (length rows)) as [M | M].
      * rewrite last_nth. rewrite (nth_indep rows (nth (length rows - 1) rows []) []) by exact M. f_equal. lia.
      * rewrite nth_overflow by exact M. reflexivity.
Qed.

Lemma rows_private m : both_ways P n (chances (row_at rows m)) (chances (row_at rows (S m))).
Proof.
  destruct (row_at_is m) as [W [-> | H]]; [apply same_private, chances_distribution, W|].
  apply next_private; [exact W | apply row_at_is | exact H].
Qed.

(** The first row: the truth, and others that are alike. *)
Lemma first_is : exists t q, (forall i, (i < n)%nat -> chances (row_at rows 0) i = first (from t) (from q) i) /\
  0 <= from q <= from t /\ from t <= ratio P * from q + delta P.
Proof.
  destruct parts as (row & rest & E & W & F & _). unfold row_at. rewrite E in W |- *. cbn [nth].
  cbn [forallb] in W. apply andb_prop in W as [W _]. destruct (row_is row W) as (R & S & L).
  destruct row as [| t others]; [discriminate|]. cbn [first_row] in F. set (q := ((one - t) / (k - 1))%Z) in *.
  rewrite !andb_true_iff, Z.eqb_eq, Z.ltb_lt, Z.leb_le, orb_true_iff in F. destruct F as [[[[[[Q1 Q2] Q3] Q4] Q5] _] _].
  assert (Fq : 0 <= from q) by (unfold from; rewrite <- from_0; apply (part_le one one_positive); lia).
  exists t, q. split; [|split].
  - unfold chances, chance_of. fold n. destruct together.
    + cbn [hd]. intros [| i] _; cbn [alike first]; [reflexivity|]. rewrite INR_answers.
      assert (N : 0 < IZR (k - 1)) by (apply IZR_lt; lia).
      assert (K : from t + IZR (k - 1) * from q = 1).
      { rewrite <- from_one, <- Q1, from_add. f_equal. unfold from, Table.part. rewrite mult_IZR. field. lra. }
      fold (from t). apply Rmult_eq_reg_r with (IZR (k - 1)); [|lra]. field_simplify; lra.
    + destruct Q4 as [Q4 | Q4]; [discriminate|]. rewrite forallb_forall in Q4. intros [| i] Hi; cbn [nth first]; [reflexivity|].
      cbn [length] in L. unfold from. f_equal. symmetry. apply Z.eqb_eq, Q4, nth_In. lia.
  - split; [exact Fq | apply (part_le one one_positive), Q3].
  - apply by_ratio; [exact Fq|]. apply (fits_iff one y d one_positive), Q5.
Qed.

(** Between any neighbours, any set of answers: Definition 1. *)
Theorem which_private orders s s' T : (forall a, Permutation (orders a) (seq 0 n)) -> beside s s' ->
  released one k together rows orders s T <= ratio P * released one k together rows orders s' T + delta P.
Proof.
  intros O B. destruct s as [a m], s' as [a' m']. unfold beside, released in *. cbn [fst snd] in *. fold n chances.
  destruct B as [[-> B] | [-> ->]].
  - set (E := fun i => T (nth i (orders a') 0%nat)).
    assert (C : m = m' \/ m' = S m \/ m = S m') by lia. destruct C as [-> | [-> | ->]].
    + apply (same_private P n), chances_distribution, row_at_is.
    + apply (rows_private m).
    + apply (rows_private m').
  - destruct first_is as (t & q & F & Q & H). unfold likely.
    rewrite (total_ext n _ (fun i => (if T (nth i (orders a) 0%nat) then 1 else 0) * first (from t) (from q) i))
      by (intros i Hi; rewrite F by exact Hi; reflexivity).
    rewrite (total_ext n (fun i => (if T (nth i (orders a') 0%nat) then 1 else 0) * _)
      (fun i => (if T (nth i (orders a') 0%nat) then 1 else 0) * first (from t) (from q) i))
      by (intros i Hi; rewrite F by exact Hi; reflexivity).
    pose proof (Permutation_length (O a)) as L. rewrite seq_length in L. rewrite <- L.
    apply (first_private P (from t) (from q) (orders a) (orders a') T Q H).
    + rewrite (O a), (O a'). reflexivity.
    + intros N. rewrite N in L. cbn in L. lia.
Qed.

(** *** Optimal *)

Lemma running_nth b row j : (j < length row)%nat -> nth j (running b row) 0%Z = (b + sum_of (firstn (S j) row))%Z.
Proof.
  revert b j; induction row as [| a row IH]; intros b j L; cbn [length] in L; [lia|]. destruct j as [| j].
  - cbn. lia.
  - cbn [running nth]. rewrite IH by lia. change (firstn (S (S j)) (a :: row)) with (a :: firstn (S j) row).
    cbn [sum_of fold_right]. fold (sum_of (firstn (S j) row)). lia.
Qed.

Lemma columns_are rest c sums j : which_columns one above d small_y small_d k rest c sums = true -> (j < c)%nat ->
  exists here column, map (fun l => nth j l 0%Z) sums = here :: column /\
  checked_side one (allowed one small_y small_d) (ceiling one above d) (many sums) here column
    (one - (rest - Z.of_nat j) * least_other one above d k) = true.
Proof.
  revert rest sums j; induction c as [| c IH]; intros rest sums j H L; [lia|]. cbn [which_columns] in H.
  apply andb_prop in H as [H1 H2]. destruct j as [| j].
  - destruct (map (hd 0%Z) sums) as [| here column] eqn:E; [discriminate|]. exists here, column. rewrite <- E.
    split; [apply map_ext; intros []; reflexivity | rewrite Z.sub_0_r; exact H1].
  - destruct (IH _ _ j H2 ltac:(lia)) as (here & column & E & C). exists here, column. rewrite map_map in E.
    split; [rewrite <- E; apply map_ext; intros []; [destruct j|]; reflexivity|].
    rewrite many_length, map_length, <- many_length in C.
    replace (rest - Z.of_nat (S j))%Z with (rest - 1 - Z.of_nat j)%Z by lia. exact C.
Qed.

Lemma least_other_least q : (1 - delta P) <= (ratio P + IZR (k - 1)) * q -> from (least_other one above d k) <= q.
Proof.
  intros H. of_privacy P. unfold least_other. set (da := IZR (Zpos (Qden above))). set (dd := IZR (Zpos (Qden d))).
  assert (A : 0 < da) by (apply IZR_lt; lia). assert (D : 0 < dd) by (apply IZR_lt; lia).
  assert (Na : IZR (Qnum above) = Q2R above * da) by (symmetry; apply Q2R_parts).
  assert (Nd : IZR (Qnum d) = Q2R d * dd) by (symmetry; apply Q2R_parts).
  assert (K : 1 <= IZR (k - 1)) by (apply IZR_le; lia).
  assert (L : (0 < Zpos (Qden d) * (Qnum above + (k - 1) * Zpos (Qden above)))%Z).
  { apply lt_IZR. rewrite mult_IZR, plus_IZR, mult_IZR, Na. fold da dd. apply Rmult_lt_0_compat; [exact D|]. nra. }
  pose proof (Z.mul_div_le ((Zpos (Qden d) - Qnum d) * Zpos (Qden above) * one) _ L) as U. apply IZR_le in U.
  rewrite !mult_IZR, plus_IZR, minus_IZR, !mult_IZR, Na, Nd in U. fold da dd in U. set (u := IZR (_ / _)) in *.
  unfold from, Table.part. fold u.
  assert (V : dd * da * ((Q2R above + IZR (k - 1)) * u) <= dd * da * ((1 - Q2R d) * IZR one)) by lra.
  apply Rmult_le_reg_l in V; [|nra]. rewrite <- delta_is in V.
  assert (Q : 0 <= q) by (apply Rmult_le_reg_l with (ratio P + IZR (k - 1)); lra).
  assert (W : (1 - delta P) <= (Q2R above + IZR (k - 1)) * q) by nra.
  apply Rmult_le_reg_r with (IZR one); [exact One|]. replace (u / IZR one * IZR one) with u by (field; lra).
  apply Rmult_le_reg_l with (Q2R above + IZR (k - 1)); [lra|]. eapply Rle_trans; [exact V|]. nra.
Qed.

Theorem which_optimal (N : nat -> nat -> R) t q :
  (forall m, distribution n (N m)) -> (forall m, both_ways P n (N m) (N (S m))) ->
  (forall i, (i < n)%nat -> N 0%nat i = first t q i) -> t <= ratio P * q + delta P ->
  forall j m, (S j < length (row_at rows 0))%nat ->
  likely n (N m) (fun i => Nat.leb i j) < from (sum_of (firstn (S j) (row_at rows m))) + / 2 ^ 60.
Proof.
  intros D H F B j m L. destruct parts as (row & rest & E & W & _ & _ & C).
  assert (R0 : row_at rows 0 = row) by (unfold row_at; rewrite E; reflexivity). rewrite R0 in L.
  destruct (columns_are _ _ _ j C ltac:(lia)) as (here & column & M & S).
  set (f := fun m => likely n (N m) (fun i => Nat.leb i j)).
  change (f m < from (sum_of (firstn (Datatypes.S j) (row_at rows m))) + / 2 ^ 60).
  assert (Lj : (j <= n - 1)%nat).
  { rewrite forallb_forall in W. specialize (W row ltac:(rewrite E; left; reflexivity)).
    destruct (row_is row W) as (_ & _ & Lr). destruct together; lia. }
  assert (T : t + INR (n - 1) * q = 1).
  { rewrite <- first_total. replace (Datatypes.S (n - 1)) with n by lia. rewrite <- (proj2 (D 0%nat)).
    apply total_ext. intros i Hi. symmetry. apply F, Hi. }
  assert (F0 : f 0%nat = t + INR j * q).
  { unfold f. rewrite <- (first_prefix t q (n - 1) j Lj). replace (Datatypes.S (n - 1)) with n by lia.
    unfold likely. apply total_ext. intros i Hi. rewrite F by exact Hi. reflexivity. }
  assert (Top : f 0%nat <= from (one - (k - 1 - Z.of_nat j) * least_other one above d k)).
  { pose proof (least_other_least q) as Q. rewrite <- INR_answers in Q. specialize (Q ltac:(lra)).
    replace (from (one - (k - 1 - Z.of_nat j) * least_other one above d k))
      with (1 - (INR (n - 1) - INR j) * from (least_other one above d k)).
    - rewrite F0. assert (INR j <= INR (n - 1)) by (apply le_INR, Lj). nra.
    - rewrite INR_answers, INR_IZR_INZ. unfold from, Table.part.
      rewrite (minus_IZR one), mult_IZR, (minus_IZR (k - 1) (Z.of_nat j)). field. lra. }
  pose proof (checked_side_near one (allowed one small_y small_d) (ceiling one above d) P one_positive) as K.
  assert (Rise : forall x top, probability x -> x <= Table.part one top ->
    step P x <= Table.part one (ceiling one above d top)).
  { intros x top. apply ceiling_sound; assumption. }
  specialize (K Rise (many (map (running 0) rows)) here column _ f S (fun m => likely_probability n (N m) _ (D m))
    (fun m => event_step P n (N m) (N (Datatypes.S m)) _ (D m) (D (Datatypes.S m)) (H m)) Top m).
  rewrite (entry_nth here column _ 0%Z), <- M in K. rewrite map_map in K. rewrite many_length, map_length in K.
  assert (Lc : length rows = Datatypes.S (length column)).
  { pose proof (f_equal (@length Z) M) as X. rewrite !map_length in X. exact X. }
  replace (Nat.min (Nat.min m (Z.to_nat (Z.of_nat (length rows) - 1))) (length column))
    with (Nat.min m (length column)) in K by lia.
  assert (Row : nth (Nat.min m (length column)) (map (fun l => nth j (running 0 l) 0%Z) rows) 0%Z =
                sum_of (firstn (Datatypes.S j) (row_at rows m))).
  { set (sum := fun l => nth j (running 0 l) 0%Z). rewrite (nth_indep _ 0%Z (sum [])) by (rewrite map_length; lia).
    rewrite (map_nth sum). unfold sum.
    replace (nth (Nat.min m (length column)) rows []) with (row_at rows m).
    - rewrite running_nth; [lia|]. destruct (row_at_is m) as [Wm _]. destruct (row_is _ Wm) as (_ & _ & Lm). rewrite Lm.
      rewrite forallb_forall in W. specialize (W row ltac:(rewrite E; left; reflexivity)).
      destruct (row_is row W) as (_ & _ & Lr). lia.
    - unfold row_at. destruct (Nat.lt_ge_cases m (length rows)) as [I | I].
      + rewrite Nat.min_l by lia. apply nth_indep, I.
      + rewrite Nat.min_r by lia. rewrite nth_overflow by exact I. rewrite last_nth. f_equal. lia. }
  rewrite Row in K. exact K.
Qed.

End Right.

(** ** What the verdict says *)

Definition which_proved (P : privacy) (one : Z) (c : which_certificate) :=
  let k := of_answers c in
  let n := Z.to_nat k in
  let rows := which_rows c in
  (forall orders s s' T, (forall a, Permutation (orders a) (seq 0 n)) -> beside s s' ->
     released one k (others_together c) rows orders s T <=
     ratio P * released one k (others_together c) rows orders s' T + delta P) /\
  (forall (N : nat -> nat -> R) t q, (forall m, distribution n (N m)) -> (forall m, both_ways P n (N m) (N (S m))) ->
     (forall i, (i < n)%nat -> N 0%nat i = first t q i) -> t <= ratio P * q + delta P ->
     forall j m, (S j < length (row_at rows 0))%nat ->
     likely n (N m) (fun i => Nat.leb i j) < Table.part one (sum_of (firstn (S j) (row_at rows m))) + / 2 ^ 60).

Lemma read_which_answers bits one j c : read_which bits one j = Some c -> (2 <= of_answers c)%Z.
Proof.
  unfold read_which. intros H.
  repeat match type of H with match ?x with Some _ => _ | None => None end = _ => destruct x eqn:?; [|discriminate H]
                            | (if ?x then _ else None) = _ => destruct x eqn:?; [|discriminate H] end.
  injection H as <-. cbn [of_answers].
  match goal with B : ((2 <=? _)%Z && _)%bool = true |- _ => apply andb_prop in B end. lia.
Qed.

Lemma which_stated_bits j bits b : read_which_stated j = Some (bits, b) -> (64 <= bits)%Z.
Proof.
  unfold read_which_stated. intros S.
  repeat match type of S with match ?x with Some _ => _ | None => None end = _ => destruct x eqn:?; [|discriminate S]
                            | (if ?x then _ else None) = _ => destruct x eqn:?; [|discriminate S] end.
  match type of S with match ?x with ByRatio _ => _ | ByOrder _ => _ end = _ => destruct x; [|discriminate S] end.
  injection S as <- _. match goal with B : ((64 <=? _)%Z && _)%bool = true |- _ => apply andb_prop in B end. lia.
Qed.

Theorem which_sound j k count : which j = Some (k, count) -> exists bits b c,
  read_which_stated j = Some (bits, b) /\ read_which bits (Z.shiftl 1 bits) j = Some c /\ of_answers c = k /\
  forall P, states b P -> which_proved P (Z.shiftl 1 bits) c.
Proof.
  unfold which. destruct (read_which_stated j) as [[bits b]|] eqn:S; [|discriminate].
  assert (B : (0 < Z.shiftl 1 bits)%Z) by (apply shifted; apply which_stated_bits in S; lia).
  destruct (definition _ _ _) as [[[y above] d]|] eqn:D; [|discriminate].
  destruct (shrunk bits y d) as [small_y small_d]. destruct (read_which _ _ j) as [c|] eqn:C; [|discriminate].
  destruct (check_which _ _ _ _ _ _ _ _ _) eqn:A; [|discriminate]. intros H. injection H as <- _.
  exists bits, b, c. do 3 (split; [reflexivity || exact C|]). intros P HP.
  destruct (ratio_honest _ _ _ _ _ HP D) as [[Ry Ra] E]. pose proof (read_which_answers _ _ _ _ C) as K. split.
  - intros. eapply which_private; eassumption.
  - intros. eapply which_optimal; eassumption.
Qed.
